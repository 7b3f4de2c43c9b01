import type { FeedEvent } from '@torpor/contracts'
import { ALL, actorRef, inboxPrefix, LIMITS, nodeRef, STREAMS, SUBJECTS } from '@torpor/contracts'
import type { NatsAdapter } from '@torpor/adapter-nats'
import { connectNats, natsServerConfig } from '@torpor/adapter-nats'
import type { TestServer } from '@torpor/adapter-nats/test-server'
import { startTestServer } from '@torpor/adapter-nats/test-server'
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest'
import type { BusRole } from './permissions.ts'
import { busUser, userName } from './permissions.ts'

const SHARDS = 2
const PASSWORD = 'a password of a test'
const WAIT = { timeout: 10_000, interval: 20 }
const bytes = (text: string) => new TextEncoder().encode(text)

const ROLES = {
  controlPlane: { kind: 'control-plane', shards: SHARDS },
  nodeOne: { kind: 'node-agent', node: 'one' },
  nodeTwo: { kind: 'node-agent', node: 'two' },
  router: { kind: 'router' },
  projector: { kind: 'projector', shards: SHARDS },
  client: { kind: 'client', name: 'sdk' },
  tenant: { kind: 'client', name: 'tenant', atespaces: ['demo'] },
  viewer: { kind: 'viewer', name: 'viewer' },
  anyone: { kind: 'anyone' },
} as const satisfies Record<string, BusRole>
type RoleName = keyof typeof ROLES

describe('what each user of the bus may do, on a real server', () => {
  let server: TestServer
  const users: Partial<Record<RoleName, NatsAdapter>> = {}
  const refusals: Partial<Record<RoleName, string[]>> = {}

  const as = (name: RoleName): NatsAdapter => {
    const adapter = users[name]
    if (adapter === undefined) throw new Error(`${name} is not connected`)
    return adapter
  }
  const connectAs = async (name: RoleName, shards?: number | 'existing') => {
    const heard: string[] = []
    refusals[name] = heard
    users[name] = await connectNats({
      url: server.url,
      name,
      ...(name === 'anyone' ? {} : { user: userName(ROLES[name]), password: PASSWORD }),
      ...(shards === undefined ? {} : { shards }),
      onNotice: ({ kind, detail }) => kind === 'refused' && heard.push(detail),
    })
  }
  /** The server says no to a publish or a subscription by itself, a moment later. */
  const isRefused = (name: RoleName, subject: string) =>
    vi.waitFor(() => {
      expect(refusals[name]?.filter((detail) => detail.includes(`"${subject}"`))).not.toEqual([])
    }, WAIT)

  beforeAll(async () => {
    server = await startTestServer({
      users: Object.values(ROLES).map((role) => busUser(role, PASSWORD)),
      userOfUnnamed: userName(ROLES.anyone),
    })
    await connectAs('controlPlane', SHARDS)
    await connectAs('projector', 'existing')
    for (const name of ['nodeOne', 'nodeTwo', 'router', 'client', 'tenant', 'viewer', 'anyone'] as const) {
      await connectAs(name)
    }
  })
  afterAll(async () => {
    await Promise.all(Object.values(users).map((adapter) => adapter.close()))
    await server.stop()
  })

  test('the control plane makes the system, appends, holds leases and reads commands', async () => {
    const { log, leases, durableCommands } = as('controlPlane')
    expect(await log.shard(0).append(bytes('frame'), 0)).toMatchObject({ kind: 'committed' })
    expect(await leases.acquire(0, 'cp', LIMITS.shardLeaseMs)).toMatchObject({ owner: 'cp' })
    expect(await durableCommands.firstSequence()).toBeGreaterThanOrEqual(0)
    for await (const frame of log.shard(0).read(1, 1)) expect(frame.sequence).toBe(1)
    expect(refusals.controlPlane).toEqual([])
  })

  test('the projector reads the log and cannot write it', async () => {
    await as('controlPlane').log.shard(1).append(bytes('frame'), 0)
    for await (const frame of as('projector').log.shard(1).read(1, 1)) expect(frame.sequence).toBe(1)
    as('projector').bus.publish(SUBJECTS.log(1), bytes('forged'))
    await isRefused('projector', SUBJECTS.log(1))
    expect(await as('controlPlane').log.shard(1).lastSequence()).toBe(1)
  })

  test.for(['nodeOne', 'router', 'client', 'tenant', 'viewer', 'anyone'] as const)(
    '%s cannot write the log',
    async (name) => {
      const before = await as('controlPlane').log.shard(0).lastSequence()
      as(name).bus.publish(SUBJECTS.log(0), bytes('forged'))
      await isRefused(name, SUBJECTS.log(0))
      expect(await as('controlPlane').log.shard(0).lastSequence()).toBe(before)
    },
  )

  test('a node is asked and answers, reports and tells its capacity; another node hears nothing', async () => {
    const subject = SUBJECTS.nodeCommand('one', 'Inventory')
    as('nodeOne').bus.subscribe(ALL.nodeCommandsOf('one'), (_, respond) => respond(bytes('one')))
    const ask = () => as('controlPlane').bus.request(subject, bytes(''), { timeoutMs: 1_000 })
    expect(Buffer.from(await vi.waitFor(ask, WAIT)).toString()).toBe('one')
    as('nodeTwo').bus.subscribe(ALL.nodeCommandsOf('one'), () => undefined)
    await isRefused('nodeTwo', ALL.nodeCommandsOf('one'))
    expect(refusals.nodeOne?.filter((detail) => !detail.includes('.log.'))).toEqual([])
  })

  test('a node reads the commands that it missed, and not those of another', async () => {
    const subject = SUBJECTS.nodeCommand('one', 'Prepare')
    as('controlPlane').bus.publish(subject, bytes('missed'))
    const { signal } = new AbortController()
    for await (const command of as('nodeOne').nodeCommands('one', 0, signal)) {
      if (command.subject !== subject) continue
      expect(Buffer.from(command.data).toString()).toBe('missed')
      break
    }
    const reading = new AbortController()
    const read: string[] = []
    void (async () => {
      for await (const command of as('nodeTwo').nodeCommands('one', 0, reading.signal)) {
        read.push(command.subject)
      }
    })()
    await vi.waitFor(() => {
      const [refused] = refusals.nodeTwo?.filter((detail) => detail.includes('CONSUMER.CREATE')) ?? []
      expect(refused).toContain(ALL.nodeCommandsOf('one'))
    }, WAIT)
    reading.abort()
    expect(read).toEqual([])
  })

  test('a node speaks for itself only', async () => {
    const heard: string[] = []
    as('controlPlane').bus.subscribe(ALL.reports, ({ subject }, respond) => {
      heard.push(subject)
      respond(bytes('ok'))
    })
    const own = SUBJECTS.report('one', { atespace: 'demo', name: 'a' })
    await vi.waitFor(() => as('nodeOne').bus.request(own, bytes(''), { timeoutMs: 1_000 }), WAIT)
    const foreign = [
      SUBJECTS.report('two', { atespace: 'demo', name: 'a' }),
      SUBJECTS.capacity('two'),
      SUBJECTS.rpc(nodeRef('two'), 'JoinNode'),
      SUBJECTS.nodeCommand('two', 'Terminate'),
      SUBJECTS.command(actorRef('demo', 'a'), 'DeleteActor'),
      SUBJECTS.shardSystem(0),
    ]
    for (const subject of foreign) {
      as('nodeOne').bus.publish(subject, bytes('forged'))
      await isRefused('nodeOne', subject)
    }
    expect(new Set(heard)).toEqual(new Set([own]))
  })

  test('a client sends commands by both doors and follows events', async () => {
    as('controlPlane').bus.subscribe(ALL.rpc, (_, respond) => respond(bytes('served')))
    const resume = SUBJECTS.rpc(actorRef('demo', 'a'), 'ResumeActor')
    const durable = SUBJECTS.command(actorRef('demo', 'a'), 'ResumeActor')
    for (const name of ['client', 'anyone'] as const) {
      await vi.waitFor(() => as(name).bus.request(resume, bytes(''), { timeoutMs: 1_000 }), WAIT)
      const ack = await as(name).bus.request(durable, bytes('{}'), { timeoutMs: 5_000 })
      expect(JSON.parse(Buffer.from(ack).toString())).toMatchObject({ stream: STREAMS.commands })
    }

    as('controlPlane').log.publishEvent(SUBJECTS.event(actorRef('demo', 'a')), 'line')
    for (const name of ['client', 'viewer', 'anyone'] as const) {
      const { signal } = new AbortController()
      const seen: FeedEvent[] = []
      await vi.waitFor(async () => {
        const following = as(name).feed.follow(ALL.events, { from: 'start', untilCaughtUp: true, signal })
        for await (const event of following) seen.push(event)
        expect(seen[0]?.line).toBe('line')
      }, WAIT)
    }
  })

  test.for(['client', 'viewer', 'router', 'tenant'] as const)(
    '%s hears no node command, no report, no one else’s answers, and is no node',
    async (name) => {
      const forbidden = [ALL.nodeCommands, ALL.reports, `${inboxPrefix('control-plane')}.>`, '_INBOX.>', '>']
      for (const subject of forbidden) {
        as(name).bus.subscribe(subject, () => undefined)
        await isRefused(name, subject)
      }
      await speaksForNobodyElse(name)
    },
  )

  const speaksForNobodyElse = async (name: RoleName) => {
    const spoken = [
      SUBJECTS.nodeCommand('one', 'Terminate'),
      SUBJECTS.report('one', { atespace: 'demo', name: 'a' }),
      SUBJECTS.capacity('one'),
      SUBJECTS.event({ atespace: 'demo', name: 'a' }),
      SUBJECTS.rpc(nodeRef('one'), 'JoinNode'),
      SUBJECTS.rpc(nodeRef('one'), 'RenewNodeLease'),
      SUBJECTS.shardSystem(0),
      ...[STREAMS.log(0), STREAMS.events, STREAMS.commands].flatMap((stream) => [
        `$JS.API.STREAM.DELETE.${stream}`,
        `$JS.API.STREAM.PURGE.${stream}`,
        `$JS.API.STREAM.UPDATE.${stream}`,
      ]),
      '$KV.SHARDS.shard.0',
    ]
    for (const subject of spoken) {
      as(name).bus.publish(subject, bytes('forged'))
      await isRefused(name, subject)
    }
  }

  test('who names no user sees what the parts say to each other, and can say none of it', async () => {
    const heard: string[] = []
    for (const subject of [ALL.nodeCommands, ALL.reports]) {
      as('anyone').bus.subscribe(subject, (message) => void heard.push(message.subject))
    }
    const told = SUBJECTS.nodeCommand('one', 'Go')
    await vi.waitFor(() => {
      as('controlPlane').bus.publish(told, bytes(''))
      expect(heard).toContain(told)
    }, WAIT)
    for (const subject of [`${inboxPrefix('control-plane')}.>`, ALL.capacity, 'torpor.v1.>', '>']) {
      as('anyone').bus.subscribe(subject, () => undefined)
      await isRefused('anyone', subject)
    }
    await speaksForNobodyElse('anyone')
  })

  test('who names a user must have its password, also where nameless ones are let in', async () => {
    const wrong = { url: server.url, name: 'wrong', user: 'router', password: 'not this one' }
    await expect(connectNats(wrong)).rejects.toMatchObject({ code: 'UNAUTHENTICATED' })
  })

  test('nameless users are let in on the loopback only', () => {
    const options = { host: '0.0.0.0', port: 4222, storeDir: '/nowhere', userOfUnnamed: 'anyone' }
    expect(() => natsServerConfig(options)).toThrow(/loopback/)
  })

  test('a tenant stays in its atespaces', async () => {
    const own = SUBJECTS.rpc(actorRef('demo', 'a'), 'ResumeActor')
    await vi.waitFor(() => as('tenant').bus.request(own, bytes(''), { timeoutMs: 1_000 }), WAIT)
    for (const subject of [SUBJECTS.rpc(actorRef('other', 'a'), 'ResumeActor'), SUBJECTS.shardRpc(0)]) {
      as('tenant').bus.publish(subject, bytes(''))
      await isRefused('tenant', subject)
    }
    as('tenant').bus.subscribe(ALL.events, () => undefined)
    await isRefused('tenant', ALL.events)
  })

  test('a viewer changes nothing', async () => {
    for (const subject of [
      SUBJECTS.rpc(actorRef('demo', 'a'), 'DeleteActor'),
      SUBJECTS.command(actorRef('demo', 'a'), 'DeleteActor'),
      SUBJECTS.shardRpc(0),
      SUBJECTS.event(actorRef('demo', 'a')),
    ]) {
      as('viewer').bus.publish(subject, bytes(''))
      await isRefused('viewer', subject)
    }
  })
})
