import type { EntityKind, EntityState, Frame, Gone, ReadModel, ReadModelChange } from '@torpor/contracts'
import { domainEventOf, isGone, parseCloudEvent, parseEntityKey } from '@torpor/contracts'
import { evolveEntity } from '@torpor/state-machines'

/** States as of the last frame that was folded: those that were touched lately; the others are read from the rows. */
export type KnownStates = Map<string, EntityState | Gone>

const KINDS: readonly string[] = ['actor', 'actor-template', 'worker-pool', 'atespace', 'node']

type Fact = {
  readonly key: string
  readonly event: ReturnType<typeof parseCloudEvent>
  readonly timeMs: number
}

/** Folds frames onto the states that there are, and gives the rows that this changes: one for each entity, its last. */
export async function foldFrames(
  frames: readonly Frame[],
  known: KnownStates,
  model: Pick<ReadModel, 'read'>,
): Promise<readonly ReadModelChange[]> {
  const facts = frames.flatMap(factsOf)
  await readMissing(facts, known, model)
  const changed = new Set<string>()
  for (const { key, event, timeMs } of facts) {
    const domain = domainEventOf(event)
    if (domain === undefined || domain.type === 'CommandRefused') continue
    const ref = parseEntityKey(key)
    const position = { version: event.version, epoch: event.epoch, timeMs }
    const next = evolveEntity(ref.kind, known.get(key) as never, domain, ref, position)
    if (next === undefined) known.delete(key)
    else known.set(key, next)
    changed.add(key)
  }
  return [...changed].map((key) => changeOf(key, known.get(key)))
}

const factsOf = ({ header, lines }: Frame): readonly Fact[] =>
  lines
    .map((line) => parseCloudEvent(line))
    .filter((event) => KINDS.includes(event.subject.split('/')[0] ?? ''))
    .map((event) => ({ key: event.subject, event, timeMs: header.timeMs }))

async function readMissing(
  facts: readonly Fact[],
  known: KnownStates,
  model: Pick<ReadModel, 'read'>,
): Promise<void> {
  const missing = new Set(facts.map(({ key }) => key).filter((key) => !known.has(key)))
  const byKind = Map.groupBy(missing, (key): EntityKind => parseEntityKey(key).kind)
  for (const [kind, keys] of byKind) {
    for (const [key, state] of await model.read(kind, keys)) known.set(key, state)
  }
}

function changeOf(key: string, state: EntityState | Gone | undefined): ReadModelChange {
  const { kind, atespace, name } = parseEntityKey(key)
  return { key, kind, atespace, name, state: state === undefined || isGone(state) ? undefined : state }
}
