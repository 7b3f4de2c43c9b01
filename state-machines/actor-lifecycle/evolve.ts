import type { Actor, DomainEvent, EntityRef, EventOf, EventPosition, Gone } from '@torpor/contracts'
import { fault, isGone } from '@torpor/contracts'
import { EXECUTION_FOLDS } from './evolve-execution.ts'
import { STORAGE_FOLDS } from './evolve-storage.ts'
import type { ActorEvent } from './transition-table.ts'
import { ACTOR_TRANSITIONS, isActorEvent } from './transition-table.ts'

type Fold = (actor: Actor, data: unknown, position: EventPosition) => Actor
type Mutable<Value> = { -readonly [Key in keyof Value]: Value[Key] }

/** What each event means, but for birth and end: one function per event. */
const FOLDS = { ...EXECUTION_FOLDS, ...STORAGE_FOLDS } as unknown as Readonly<
  Record<Exclude<ActorEvent['type'], 'ActorCreated' | 'ActorDeleted'>, Fold>
>

/**
 * The actor after an event. The next state comes from the machine's table, everything else from the event's fold.
 * @throws a fault INTERNAL when the machine does not accept the event: then the log was not written by this decider.
 */
export function evolve(
  state: Actor | Gone | undefined,
  event: DomainEvent,
  ref: EntityRef,
  position: EventPosition,
): Actor | Gone | undefined {
  if (!isActorEvent(event)) return state
  const actor = isGone(state) ? undefined : state
  const next = ACTOR_TRANSITIONS[actor?.state ?? 'NO_ACTOR'][event.type]
  if (next === undefined) throw notLegal(ref, actor, event)
  if (event.type === 'ActorCreated') return born(event.data, ref, position)
  if (actor === undefined) throw notLegal(ref, actor, event)
  if (event.type === 'ActorDeleted') return { gone: true, uid: actor.uid, untilMs: event.data.goneUntilMs }
  if (next === 'NO_ACTOR') throw notLegal(ref, actor, event)
  const folded = FOLDS[event.type](actor, event.data, position)
  // Folds return a value of their own: stamping it instead of one more copy is what replay's rate hangs on.
  const after: Mutable<Actor> = folded === actor ? { ...actor } : folded
  after.state = next
  after.version = position.version
  after.updateTimeMs = position.timeMs
  return after
}

function born(data: EventOf<'ActorCreated'>['data'], ref: EntityRef, position: EventPosition): Actor {
  return {
    uid: data.uid,
    atespace: ref.atespace,
    name: ref.name,
    state: 'ACTOR_STATE_SUSPENDED',
    phase: '',
    version: position.version,
    createTimeMs: position.timeMs,
    updateTimeMs: position.timeMs,
    template: data.template,
    spec: data.spec,
    snapshots: data.snapshot === undefined ? [] : [data.snapshot],
    lastAssignedGeneration: data.snapshot?.generation ?? 0,
    assignedNode: data.snapshot?.locality ?? '',
    collect: [],
    timers: [],
    golden: data.golden,
  }
}

const notLegal = (ref: EntityRef, actor: Actor | undefined, event: DomainEvent) =>
  fault('INTERNAL', `${ref.atespace}/${ref.name}`, {
    detail: `${event.type} is not legal in ${actor?.state ?? 'NO_ACTOR'}`,
  })
