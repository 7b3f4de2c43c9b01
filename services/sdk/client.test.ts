import { expect, test } from 'vitest'
import type {
  Bus,
  Clock,
  CommandEnvelope,
  EventFeed,
  Refusal,
  Reply,
  ResourceDocument,
} from '@torpor/contracts'
import {
  LIMITS,
  SUBJECTS,
  TorporError,
  actorRef,
  cloudEventType,
  fault,
  refuse,
  systemClock,
  workerPoolSpecSchema,
} from '@torpor/contracts'
import { createClient } from './client.ts'

type Sent = { readonly subject: string; readonly body: Record<string, unknown> }

/** A bus in this process: `answer` plays everything behind it. */
function answeringBus(answer: (sent: Sent, count: number) => Reply<unknown>): { bus: Bus; sent: Sent[] } {
  const sent: Sent[] = []
  const bus: Bus = {
    publish: () => {},
    subscribe: () => ({ unsubscribe: () => {} }),
    close: async () => {},
    async request(subject, data) {
      const one = { subject, body: JSON.parse(new TextDecoder().decode(data)) as Record<string, unknown> }
      sent.push(one)
      return new TextEncoder().encode(JSON.stringify(answer(one, sent.length)))
    },
  }
  return { bus, sent }
}

/** Time in which every delay that nobody takes back is over at once, and is counted. */
function hurriedClock(): Clock & { readonly delaysMs: number[] } {
  const delaysMs: number[] = []
  let nowMs = 1_700_000_000_000
  return {
    delaysMs,
    nowMs: () => nowMs,
    monotonicMs: () => nowMs,
    after(delayMs, call) {
      const due = setImmediate(() => {
        delaysMs.push(delayMs)
        nowMs += delayMs
        call()
      })
      return () => clearImmediate(due)
    },
  }
}

const no = (error: Refusal): Reply<unknown> => ({ ok: false, error })
const yes = (result: unknown): Reply<unknown> => ({ ok: true, result })
const refusedWith = (code: string) => expect.objectContaining({ code })

test('a command goes to its subject as an envelope and answers with the actor', async () => {
  const { bus, sent } = answeringBus(() => yes({ actor: { name: 'x', state: 'ACTOR_STATE_SUSPENDED' } }))
  const actor = await createClient({ bus }).actor('demo', 'x').create({ template: 'counter' })
  expect(actor.state).toBe('ACTOR_STATE_SUSPENDED')
  expect(sent[0]?.subject).toBe(SUBJECTS.rpc(actorRef('demo', 'x'), 'CreateActor'))
  expect(sent[0]?.body).toMatchObject({
    specversion: '1.0',
    type: 'CreateActor',
    data: { template: { atespace: 'demo', name: 'counter' } },
  })
})

test('options that were not given are not sent, so that the receiver sets the default', async () => {
  const { bus, sent } = answeringBus(() => yes({ actor: {} }))
  await createClient({ bus }).actor('demo', 'x').suspend({ mode: 'sync' })
  expect(sent[0]?.body['data']).toEqual({ mode: 'sync' })
})

test.each(['BUS_UNAVAILABLE', 'SHARD_MOVED', 'SHARD_BUSY', 'LOG_UNAVAILABLE'] as const)(
  'after %s the same command is sent again with the same id',
  async (code) => {
    const { bus, sent } = answeringBus((_, count) =>
      count < 3 ? no(refuse(code, 'demo/x')) : yes({ actor: { name: 'x' } }),
    )
    await createClient({ bus, clock: hurriedClock() }).actor('demo', 'x').resume()
    expect(sent).toHaveLength(3)
    expect(new Set(sent.map(({ body }) => JSON.stringify(body))).size).toBe(1)
  },
)

test('a fault of the bus is tried again like the refusal of that name', async () => {
  const { bus, sent } = answeringBus((_, count) => {
    if (count === 1) throw fault('BUS_UNAVAILABLE', 'nats')
    return yes({ actor: { name: 'x' } })
  })
  await createClient({ bus, clock: hurriedClock() }).actor('demo', 'x').resume()
  expect(sent).toHaveLength(2)
})

test('attempts end at rpcAttemptsMax, and no delay is longer than rpcBackoffMsMax', async () => {
  const clock = hurriedClock()
  const { bus, sent } = answeringBus(() => no(refuse('SHARD_BUSY', 'demo/x')))
  await expect(createClient({ bus, clock }).actor('demo', 'x').resume()).rejects.toThrow(
    refusedWith('SHARD_BUSY'),
  )
  expect(sent).toHaveLength(LIMITS.rpcAttemptsMax)
  expect(Math.max(...clock.delaysMs)).toBeLessThanOrEqual(LIMITS.rpcBackoffMsMax)
  expect(Math.min(...clock.delaysMs)).toBeGreaterThanOrEqual(LIMITS.rpcBackoffMsMin / 2)
})

test('a refusal is an answer: it is thrown with its code and not tried again', async () => {
  const { bus, sent } = answeringBus(() => no(refuse('ACTOR_UNKNOWN', 'demo/x')))
  const resumed = createClient({ bus }).actor('demo', 'x').resume()
  await expect(resumed).rejects.toThrow(TorporError)
  await expect(resumed).rejects.toThrow(refusedWith('ACTOR_UNKNOWN'))
  expect(sent).toHaveLength(1)
})

test('a command whose owner ended with it is sent again, the same, within its attempt', async () => {
  const sent: string[] = []
  const bus: Bus = {
    publish: () => {},
    subscribe: () => ({ unsubscribe: () => {} }),
    close: async () => {},
    request(_subject, data) {
      if (sent.push(new TextDecoder().decode(data)) === 1) return new Promise(() => {})
      return Promise.resolve(new TextEncoder().encode(JSON.stringify(yes({ actor: {} }))))
    },
  }
  await createClient({ bus, clock: hurriedClock() }).actor('demo', 'x').resume()
  expect(sent).toHaveLength(2)
  expect(sent[1]).toBe(sent[0])
})

test('timeoutMs bounds all attempts together', async () => {
  const clock = hurriedClock()
  const { bus } = answeringBus(() => no(refuse('SHARD_BUSY', 'demo/x')))
  const startMs = clock.nowMs()
  await expect(createClient({ bus, clock }).actor('demo', 'x').resume({ timeoutMs: 200 })).rejects.toThrow(
    refusedWith('SHARD_BUSY'),
  )
  expect(clock.nowMs() - startMs).toBeLessThanOrEqual(200)
})

test('an abort ends the waiting with its reason', async () => {
  const stop = new AbortController()
  const { bus } = answeringBus(() => {
    stop.abort(new Error('enough'))
    return no(refuse('SHARD_BUSY', 'demo/x'))
  })
  const client = createClient({ bus, clock: systemClock })
  await expect(client.actor('demo', 'x').resume({ signal: stop.signal })).rejects.toThrow('enough')
})

test('a name that is no DNS label is refused before anything is sent', async () => {
  const { bus, sent } = answeringBus(() => yes({}))
  await expect(createClient({ bus }).actor('demo', 'a.b').get()).rejects.toThrow(refusedWith('NAME_INVALID'))
  await expect(createClient({ bus }).actor('de>mo', 'b').get()).rejects.toThrow(refusedWith('NAME_INVALID'))
  expect(sent).toHaveLength(0)
})

test('listAll walks every page', async () => {
  const pages: Record<string, unknown> = {
    '': { items: [{ name: 'a' }, { name: 'b' }], nextPageToken: 'p2' },
    p2: { items: [{ name: 'c' }], nextPageToken: '' },
  }
  const { bus, sent } = answeringBus(({ body }) => yes(pages[String(body['pageToken'])]))
  const names: string[] = []
  for await (const { name } of createClient({ bus }).listAll('ListActors', { atespace: 'demo' }))
    names.push(name)
  expect(names).toEqual(['a', 'b', 'c'])
  expect(sent.map(({ subject }) => subject)).toEqual(Array(2).fill(SUBJECTS.query('ListActors')))
})

test('an event that the feed delivers twice comes once', async () => {
  const line = (version: number): string =>
    JSON.stringify({
      specversion: '1.0',
      id: `e${version}`,
      type: cloudEventType('ActorResumed'),
      subject: 'actor/demo/x',
      actoruid: 'u',
      version,
      data: {},
    })
  const feed: EventFeed = {
    async *follow(subject) {
      for (const version of [1, 2, 2, 1, 3]) yield { sequence: 1, subject, line: line(version) }
    },
  }
  const { bus } = answeringBus(() => yes({}))
  const versions: number[] = []
  const client = createClient({ bus, feed })
  for await (const event of client.events({ from: 'start', signal: AbortSignal.timeout(5_000) })) {
    versions.push(event.version)
  }
  expect(versions).toEqual([1, 2, 3])
})

test('each refused command comes once, also of something that does not exist', async () => {
  const line = (id: string): string =>
    JSON.stringify({
      specversion: '1.0',
      id,
      type: cloudEventType('CommandRefused'),
      subject: 'actor/demo/nobody',
      version: 0,
      data: {},
    })
  const feed: EventFeed = {
    async *follow(subject) {
      for (const id of ['first', 'second', 'first']) yield { sequence: 1, subject, line: line(id) }
    },
  }
  const { bus } = answeringBus(() => yes({}))
  const signal = AbortSignal.timeout(5_000)
  const events = await Array.fromAsync(createClient({ bus, feed }).events({ from: 'start', signal }))
  expect(events.map(({ id }) => id)).toEqual(['first', 'second'])
})

const poolDocument: Extract<ResourceDocument, { kind: 'WorkerPool' }> = {
  apiVersion: 'torpor.dev/v1',
  kind: 'WorkerPool',
  metadata: { name: 'pool' },
  spec: { replicas: 2, sandboxClasses: [{ name: 'gvisor' }] },
}

test('apply updates a pool that is there with another spec and leaves an equal one', async () => {
  const stored = { value: workerPoolSpecSchema.parse({ ...poolDocument.spec, replicas: 1 }) }
  const { bus } = answeringBus(({ body }) => {
    const { type, data } = body as CommandEnvelope
    if (type === 'CreateWorkerPool') return no(refuse('ALREADY_EXISTS', 'pool'))
    if (type === 'UpdateWorkerPool')
      stored.value = workerPoolSpecSchema.parse((data as { spec: unknown }).spec)
    return yes({ workerPool: { spec: stored.value } })
  })
  const client = createClient({ bus })
  expect(await client.apply(poolDocument)).toBe('updated')
  expect(await client.apply(poolDocument)).toBe('unchanged')
})
