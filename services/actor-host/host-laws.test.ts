import type { Decider } from '@torpor/contracts'
import { actorRef, entityKey, sha256Hex, systemClock, systemRandom, uuidV7 } from '@torpor/contracts'
import { connectNats } from '@torpor/adapter-nats'
import type { NatsAdapter } from '@torpor/adapter-nats'
import { setTimeout as sleep } from 'node:timers/promises'
import { describe, expect, test } from 'vitest'
import type { TestServer } from '../../infra/adapters/nats/start-test-server.ts'
import { startTestServer } from '../../infra/adapters/nats/start-test-server.ts'
import type { ActorHost } from './actor-host.ts'
import { createActorHost } from './actor-host.ts'
import { auditLog } from '@torpor/simulations/checkers/audit-log'
import type { Counter } from './testing/counter.ts'
import { counter } from './testing/counter.ts'
import type { HostWorld } from './testing/host-laws.ts'
import { allFrames, describeHostLaws } from './testing/host-laws.ts'
import { settle, simulatedWorld } from './testing/simulated-world.ts'

const UNTIL_MS_MAX = 30_000
const POLL_MS = 5

describeHostLaws('the simulated log', async () => {
  const { clock, log, command, start } = simulatedWorld()
  return {
    log: log.connect(),
    spawn: async (owner) => (await start(owner)).host,
    command,
    run: (promise) => clock.run(promise),
    until: (condition) => clock.runUntil(condition),
    close: async () => undefined,
  }
})

describeHostLaws('JetStream', async () => {
  const server = await startTestServer()
  return realWorld(server)
})

async function realWorld(server: TestServer): Promise<HostWorld> {
  const connections: NatsAdapter[] = []
  const hosts: ActorHost[] = []
  const connect = async (name: string): Promise<NatsAdapter> => {
    const nats = await connectNats({ url: server.url, name, shards: 1 })
    connections.push(nats)
    return nats
  }
  const { log } = await connect('reader')
  return {
    log,
    async spawn(owner) {
      const nats = await connect(owner)
      const host = createActorHost({
        log: nats.log,
        leases: nats.leases,
        deciders: [counter as Decider<unknown>],
        clock: systemClock,
        random: systemRandom,
        owner,
      })
      hosts.push(host)
      await host.start()
      return host
    },
    command(type, target, data = {}) {
      const id = uuidV7(systemClock, systemRandom)
      const digest = sha256Hex(JSON.stringify([type, target, data]))
      const principal = { principal: 'someone', proof: 'subject' } as const
      return { id, type, target, data, digest, principal, correlationId: id }
    },
    run: (promise) => promise,
    until,
    async close() {
      await Promise.all(hosts.map((host) => host.close()))
      await Promise.all(connections.map((nats) => nats.close()))
      await server.stop()
    },
  }
}

async function until(condition: () => boolean): Promise<void> {
  const deadline = performance.now() + UNTIL_MS_MAX
  while (!condition()) {
    if (performance.now() > deadline) throw new Error(`did not come within ${UNTIL_MS_MAX} ms`)
    await sleep(POLL_MS)
  }
}

/** A reader may find the server away still for a moment after the owner was back. */
async function whenBack<Value>(read: () => Promise<Value>): Promise<Value> {
  const deadline = performance.now() + UNTIL_MS_MAX
  for (;;) {
    try {
      return await read()
    } catch (cause) {
      if (performance.now() > deadline) throw cause
      await sleep(POLL_MS)
    }
  }
}

describe('a host whose nats-server is killed under load', () => {
  test('applies every command once, and answers those that were waiting when the server is back', async () => {
    const server = await startTestServer()
    const world = await realWorld(server)
    try {
      const host = await world.spawn('one')
      const ref = actorRef('demo', 'a')
      await host.submit(world.command('Create', ref))
      const acknowledged = new Set<string>()
      const state = { isOver: false }
      const write = async (): Promise<void> => {
        while (!state.isOver) {
          const command = world.command('Count', ref)
          for (let isAnswered = false; !isAnswered && !state.isOver;) {
            const end = await settle(host.submit(command))
            isAnswered = end.kind === 'outcome' && end.outcome.ok
            if (isAnswered) acknowledged.add(command.id)
            else await sleep(POLL_MS)
          }
        }
      }
      const writers = Array.from({ length: 20 }, write)
      for (const kills of [1, 2]) {
        const before = acknowledged.size
        await until(() => acknowledged.size > before + 100)
        await server.kill()
        await server.restart()
        const back = acknowledged.size
        await until(() => acknowledged.size > back + 100)
        expect(host.ownedShards(), `after ${kills} kills`).toEqual([0])
      }
      state.isOver = true
      await Promise.all(writers)
      const audit = auditLog(await whenBack(() => allFrames(world.log, 0)))
      for (const id of acknowledged) expect(audit.framesOfCommand.get(id)).toBe(1)
      expect([...audit.framesOfCommand.values()].every((frames) => frames === 1)).toBe(true)
      expect((host.peek(ref) as Counter).count).toBe(audit.framesOfCommand.size - 1)
      expect(audit.states.get(entityKey(ref))).toEqual(host.peek(ref))
    } finally {
      await world.close()
    }
  })
})
