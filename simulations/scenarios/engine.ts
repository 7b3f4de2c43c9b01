import { sleep } from '@torpor/contracts'
import { simulatedWorld } from '../../services/actor-host/testing/simulated-world.ts'
import type { Violation } from '../checkers/engine-laws.ts'
import { checkEngine } from '../checkers/engine-laws.ts'
import { disturb } from '../faults/engine-faults.ts'
import { startClients } from '../workload/engine-clients.ts'
import { seededRandom } from '../world/random.ts'

export type EngineRun = {
  readonly seed: number
  readonly violations: readonly Violation[]
  /** What happened to the world. */
  readonly lines: readonly string[]
  readonly asked: number
  readonly frames: readonly (readonly Uint8Array[])[]
}

/** Simulated time in which everything must be answered once nothing breaks any more. */
const END_MS_MAX = 300_000
/** A late append may still arrive when all is answered. */
const LATE_MS = 30_000
const GOES_ON = 'it goes on when faults end'

/** One world, drawn from the seed: owners, clients, faults, and then all laws over what they left. */
export async function runEngine(seed: number): Promise<EngineRun> {
  const random = seededRandom(seed)
  const world = simulatedWorld({ seed, shards: random.between(1, 2) })
  const { clock, log } = world
  const disturbance = disturb(world, random.branch())
  await clock.run(disturbance.begin(random.between(1, 3)))
  const clients = startClients(
    { world, hosts: disturbance.hosts, random: random.branch() },
    random.between(3, 8),
    random.between(8, 20),
  )
  const violations: Violation[] = []
  try {
    await clock.run(disturbance.breakThings(random.between(0, 8)), END_MS_MAX)
    await clock.run(disturbance.heal())
    await clock.run(clients.done, END_MS_MAX)
  } catch (cause) {
    violations.push({ law: GOES_ON, what: String(cause) })
  }
  await clock.run(sleep(clock, LATE_MS))
  const frames = Array.from({ length: log.shards }, (_, shard) => log.frames(shard))
  violations.push(...checkEngine({ frames, asked: clients.asked }))
  return { seed, violations, lines: disturbance.lines, asked: clients.asked.length, frames }
}
