import type { Decider, EntityRef, EventLog, HostCommand, Outcome, ShardLeases } from '@torpor/contracts'
import { actorRef, sha256Hex, uuidV7 } from '@torpor/contracts'
import type { SimulatedClock, SimulatedProcess } from '@torpor/simulations'
import {
  SimulatedLeases,
  SimulatedLog,
  seededRandom,
  simulatedClock,
  simulatedProcess,
} from '@torpor/simulations'
import type { ActorHost } from '../actor-host.ts'
import { createActorHost } from '../actor-host.ts'
import type { HostLimits } from '../limits.ts'
import { counter } from './counter.ts'

export type HostProcess = {
  readonly host: ActorHost
  readonly process: SimulatedProcess
  readonly faults: Error[]
}

export type SimulatedWorld = {
  readonly clock: SimulatedClock
  readonly log: SimulatedLog
  readonly leases: SimulatedLeases
  /** A host in a process of its own; not started. */
  spawn(owner: string, limits?: Partial<HostLimits>, clockOffMs?: number): HostProcess
  /** A host that has started and owns its share. */
  start(owner: string, limits?: Partial<HostLimits>, clockOffMs?: number): Promise<HostProcess>
  command(type: string, target: EntityRef, data?: unknown, more?: Partial<HostCommand>): HostCommand
}

export type WorldOptions = { readonly seed?: number; readonly shards?: number }

/** Log, leases, clock and any number of hosts in one process, under one seed. */
export function simulatedWorld({ seed = 1, shards = 1 }: WorldOptions = {}): SimulatedWorld {
  const random = seededRandom(seed)
  const clock = simulatedClock()
  const log = new SimulatedLog({ shards, clock, random: random.branch() })
  const leases = new SimulatedLeases(clock, random.branch())
  const spawn: SimulatedWorld['spawn'] = (owner, limits = {}, clockOffMs = 0) => {
    const process = simulatedProcess(clock)
    const faults: Error[] = []
    const host = createActorHost({
      log: log.connect(process) satisfies EventLog,
      leases: leases.connect(process) satisfies ShardLeases,
      deciders: [counter as Decider<unknown>],
      clock: { ...process.clock, nowMs: () => clock.nowMs() + clockOffMs },
      random: random.branch(),
      owner,
      limits,
      onFault: (cause) => faults.push(cause),
    })
    return { host, process, faults }
  }
  return {
    clock,
    log,
    leases,
    spawn,
    async start(owner, limits, clockOffMs) {
      const spawned = spawn(owner, limits, clockOffMs)
      await clock.run(spawned.host.start())
      return spawned
    },
    command(type, target, data = {}, more = {}) {
      const id = more.id ?? uuidV7(clock, random)
      return {
        id,
        type,
        target,
        data,
        digest: sha256Hex(JSON.stringify([type, target, data])),
        principal: { principal: 'someone', proof: 'subject' },
        correlationId: id,
        ...more,
      }
    },
  }
}

export const counterRef = (name: string): EntityRef => actorRef('demo', name)

/** What became of a command, also when it ended with a fault. */
export type Settled =
  | { readonly kind: 'outcome'; readonly outcome: Outcome }
  | { readonly kind: 'fault'; readonly code: string }

/** Submits and keeps what comes, so that nothing stays unhandled while simulated time goes by. */
export function settle(promise: Promise<Outcome>): Promise<Settled> {
  return promise.then(
    (outcome) => ({ kind: 'outcome', outcome }),
    (cause: unknown) => ({ kind: 'fault', code: (cause as { code?: string }).code ?? String(cause) }),
  )
}
