import type { EntityRef, HostCommand, Outcome } from '@torpor/contracts'
import { shardOf, sleep } from '@torpor/contracts'
import type { HostProcess, SimulatedWorld } from '../../services/actor-host/testing/simulated-world.ts'
import { counterRef } from '../../services/actor-host/testing/simulated-world.ts'
import type { SeededRandom } from '../world/random.ts'

type ReadAnswer = { readonly state: unknown; readonly version: number }

/**
 * An answer, how many frames its shard's log held at the moment when the owner gave it, and its place in the order of all
 * questions and answers.
 */
export type Answer<Result> = { readonly result: Result; readonly atFrame: number; readonly order: number }

/** What a client asked, and every answer that any owner gave to it, those too that came after the client had asked again. */
export type Asked =
  | {
      readonly kind: 'command'
      readonly command: HostCommand
      readonly order: number
      readonly answers: Answer<Outcome>[]
    }
  | {
      readonly kind: 'read'
      readonly target: EntityRef
      readonly order: number
      readonly answers: Answer<ReadAnswer>[]
    }

export type Clients = {
  readonly asked: readonly Asked[]
  /** Resolves when every client has had its answers. */
  readonly done: Promise<void>
}

type Setting = {
  readonly world: SimulatedWorld
  readonly hosts: () => readonly HostProcess[]
  readonly random: SeededRandom
}

type Stage = Setting & { readonly nextOrder: () => number }

const ACTORS_MAX = 4
const THINK_MS_MAX = 400
/** Without an answer for this long a client asks again, under the same id. */
const ANSWER_MS_MAX = 2_000
const RETRY_MS = 100
const WIRE_MS_MAX = 2
const LOST_CHANCE = 0.02

/** Clients that ask one thing after the other, and ask again until they are answered. */
export function startClients(setting: Setting, count: number, turns: number): Clients {
  const asked: Asked[] = []
  let order = 0
  const stage = { ...setting, nextOrder: () => (order += 1) }
  const streams = Array.from({ length: count }, () => setting.random.branch())
  const run = async (random: SeededRandom): Promise<void> => {
    for (let turn = 0; turn < turns; turn += 1) {
      if (random.chance(0.5)) await sleep(setting.world.clock, random.fraction() * THINK_MS_MAX)
      const next = draw(stage, random)
      asked.push(next)
      await ask(stage, random, next)
    }
  }
  return { asked, done: Promise.all(streams.map(run)).then(() => undefined) }
}

const framesOf = ({ log }: SimulatedWorld, { atespace, name }: EntityRef): number =>
  log.frames(shardOf(atespace, name, log.shards)).length

function draw({ world, nextOrder }: Stage, random: SeededRandom): Asked {
  const target = counterRef(`n${random.between(0, ACTORS_MAX - 1)}`)
  if (random.chance(0.2)) return { kind: 'read', target, order: nextOrder(), answers: [] }
  const [type, data] = drawCommand(world, random)
  return { kind: 'command', command: world.command(type, target, data), order: nextOrder(), answers: [] }
}

function drawCommand(world: SimulatedWorld, random: SeededRandom): readonly [string, object] {
  const part = random.fraction()
  if (part < 0.2) return ['Create', {}]
  if (part < 0.3) return ['Count', { by: -1 }]
  if (part < 0.34) return ['Delete', {}]
  if (part < 0.4) return ['SetAlarm', { atMs: world.clock.nowMs() + random.between(0, 5_000) }]
  return ['Count', { by: random.between(1, 9) }]
}

async function ask(stage: Stage, random: SeededRandom, asked: Asked): Promise<void> {
  const { hosts } = stage
  const { clock } = stage.world
  const target = asked.kind === 'command' ? asked.command.target : asked.target
  while (asked.answers.length === 0) {
    const owners = hosts().filter(({ host }) => host.owns(host.shardOf(target)))
    const owner = owners[random.between(0, owners.length - 1)]
    if (owner === undefined || random.chance(LOST_CHANCE)) {
      await sleep(clock, RETRY_MS)
      continue
    }
    const attempt = deliver(stage, random, owner, asked).then(
      () => undefined,
      () => sleep(clock, RETRY_MS),
    )
    await Promise.race([attempt, sleep(clock, ANSWER_MS_MAX)])
  }
}

/** To the owner's process, which reads it only while it runs; the answer counts from the moment it was given. */
async function deliver(
  { world, nextOrder }: Stage,
  random: SeededRandom,
  { host, process }: HostProcess,
  asked: Asked,
): Promise<void> {
  await process.gate(sleep(world.clock, random.fraction() * WIRE_MS_MAX))
  if (asked.kind === 'read') {
    const { state, version } = await host.read(asked.target)
    asked.answers.push({
      result: { state, version },
      atFrame: framesOf(world, asked.target),
      order: nextOrder(),
    })
  } else {
    const result = await host.submit(asked.command)
    asked.answers.push({
      result,
      atFrame: framesOf(world, asked.command.target),
      order: nextOrder(),
    })
  }
  await process.gate(sleep(world.clock, random.fraction() * WIRE_MS_MAX))
}
