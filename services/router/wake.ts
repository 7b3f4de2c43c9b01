import type { Assignment, EntityRef, Reply } from '@torpor/contracts'

/** Where an actor runs, as a wake answers it. */
export type Placed = {
  readonly assignment: Assignment
  readonly gateAddress: string
  /** Its place is in the log and it does not serve yet: the gate says when. */
  readonly isStarting?: true
}

/** When a wake is answered: when the actor's place is in the log, or when it serves. */
export type AnswerWhen = 'placed' | 'serving'

/**
 * Wakes an actor, or learns where it runs. Refuses at once where nobody admits it; takes long while a node restores it.
 * Attempts that carry the same `commandId` are decided once, however many arrive.
 */
export type Wake = (ref: EntityRef, commandId: string, answerWhen: AnswerWhen) => Promise<Reply<Placed>>

/** Calls back when there may be room again; the returned function ends that. */
export type WatchCapacity = (onChange: () => void) => () => void
