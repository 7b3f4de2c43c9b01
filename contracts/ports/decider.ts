import type { Principal } from '../cloud-event.ts'
import type { Refusal } from '../errors.ts'
import type { DomainEvent } from '../messages/events.ts'
import type { EntityKind, EntityRef } from '../names.ts'
import type { Timer } from '../resources/actor.ts'

/** A command as the owner of a shard takes it. Reports and timers come as commands too. */
export type HostCommand = {
  /** UUIDv7; the same id is applied once in the idempotency window. */
  readonly id: string
  readonly type: string
  readonly target: EntityRef
  readonly data: unknown
  /** What the caller found out before, for the decision (a template, an admission); not part of the command's identity. */
  readonly facts?: unknown
  /** SHA-256, hex, of type, target and data as sent. */
  readonly digest: string
  readonly principal: Principal
  readonly correlationId: string
  readonly traceparent?: string
  /** Why its door or handler refuses it. It is not decided then; by the durable door its "no" is remembered all the same. */
  readonly refused?: Refusal
  /** The caller of a resume wants its answer when the place is in the log, and not only when the actor serves. */
  readonly answerWhen?: 'placed'
  /** Sequence in the stream COMMANDS, when it came by the durable door. */
  readonly durableSequence?: number
}

/** What a decider needs beyond command and state. All of it is an argument, so that deciding is pure. */
export type DecisionContext = {
  readonly nowMs: number
  readonly epoch: number
  /** Version of the entity's last event; 0 before the first. The first event of this decision gets `version + 1`. */
  readonly version: number
  /** A fresh UUIDv7, for an entity that is being created. */
  readonly newUid: string
  readonly target: EntityRef
}

export type Decision =
  /** Zero events means: nothing to change, the answer is `result`. */
  | { readonly kind: 'accepted'; readonly events: readonly DomainEvent[]; readonly result?: unknown }
  | { readonly kind: 'refused'; readonly refusal: Refusal }

/** Where an event stands, for folds. */
export type EventPosition = { readonly version: number; readonly epoch: number; readonly timeMs: number }

/** A name that was deleted is remembered until `untilMs`, then forgotten. */
export type Gone = { readonly gone: true; readonly uid: string; readonly untilMs: number }

/**
 * The rules of one kind of entity, pure: `decide` says what happens, `evolve` what it means.
 * State is an immutable value; undefined before the first event.
 */
export interface Decider<State> {
  readonly kind: EntityKind
  decide(command: HostCommand, state: State | Gone | undefined, context: DecisionContext): Decision
  evolve(
    state: State | Gone | undefined,
    event: DomainEvent,
    ref: EntityRef,
    position: EventPosition,
  ): State | Gone | undefined
  /** Due times that the state holds; the host fires each with the command `FireTimer {id}`. */
  timers(state: State): readonly Timer[]
}

/** What became of a command. */
export type Outcome =
  | { readonly ok: true; readonly version: number; readonly result: unknown; readonly duplicate: boolean }
  | { readonly ok: false; readonly refusal: Refusal; readonly duplicate: boolean }

export const isGone = (state: unknown): state is Gone =>
  typeof state === 'object' && state !== null && 'gone' in state && state.gone === true

export const accept = (events: readonly DomainEvent[], result?: unknown): Decision => ({
  kind: 'accepted',
  events,
  result,
})
export const reject = (refusal: Refusal): Decision => ({ kind: 'refused', refusal })
