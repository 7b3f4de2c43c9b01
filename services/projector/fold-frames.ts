import type {
  CloudEvent,
  EntityKind,
  EntityState,
  Frame,
  Gone,
  ReadModel,
  ReadModelChange,
} from '@torpor/contracts'
import { domainEventOf, isGone, parseCloudEvent, parseEntityKey } from '@torpor/contracts'
import { evolveEntity } from '@torpor/state-machines'

/**
 * States as of the last frame that was folded, in order of their last change. Not all are known: the state of an entity that
 * is not here is the one in the rows.
 */
export type KnownStates = Map<string, EntityState | Gone>

const KINDS: ReadonlySet<string> = new Set(['actor', 'actor-template', 'worker-pool', 'atespace', 'node'])

type Fact = { readonly key: string; readonly event: CloudEvent; readonly timeMs: number }

/** Folds frames onto the states that there are, and gives the rows that this changes: one for each entity, its last. */
export async function foldFrames(
  frames: readonly Frame[],
  known: KnownStates,
  model: Pick<ReadModel, 'read'>,
): Promise<readonly ReadModelChange[]> {
  const facts = frames.flatMap(factsOf)
  await readMissing(facts, known, model)
  const changed = new Set<string>()
  for (const fact of facts) {
    if (fold(fact, known)) changed.add(fact.key)
  }
  return [...changed].map((key) => changeOf(key, known.get(key)))
}

/** Forgets the states that changed longest ago. */
export function forgetOldest(known: KnownStates, statesMax: number): void {
  let surplus = known.size - statesMax
  for (const key of known.keys()) {
    if (surplus <= 0) return
    known.delete(key)
    surplus -= 1
  }
}

/** Events of the shard itself are of no entity. */
const factsOf = ({ header, lines }: Frame): readonly Fact[] =>
  lines
    .map((line) => parseCloudEvent(line))
    .filter((event) => KINDS.has(event.subject.split('/')[0] ?? ''))
    .map((event) => ({ key: event.subject, event, timeMs: header.timeMs }))

function fold({ key, event, timeMs }: Fact, known: KnownStates): boolean {
  const domain = domainEventOf(event)
  if (domain === undefined || domain.type === 'CommandRefused') return false
  const ref = parseEntityKey(key)
  const position = { version: event.version, epoch: event.epoch, timeMs }
  const next = evolveEntity(ref.kind, known.get(key) as never, domain, ref, position)
  known.delete(key)
  if (next !== undefined) known.set(key, next)
  return true
}

/** An entity whose first event in these frames is its first of all has no row. */
async function readMissing(
  facts: readonly Fact[],
  known: KnownStates,
  model: Pick<ReadModel, 'read'>,
): Promise<void> {
  const met = new Set<string>()
  const missing: string[] = []
  for (const { key, event } of facts) {
    if (!met.has(key) && !known.has(key) && event.version > 1) missing.push(key)
    met.add(key)
  }
  const byKind = Map.groupBy(missing, (key): EntityKind => parseEntityKey(key).kind)
  for (const [kind, keys] of byKind) {
    for (const [key, state] of await model.read(kind, keys)) known.set(key, state)
  }
}

function changeOf(key: string, state: EntityState | Gone | undefined): ReadModelChange {
  const { kind, atespace, name } = parseEntityKey(key)
  return { key, kind, atespace, name, state: state === undefined || isGone(state) ? undefined : state }
}
