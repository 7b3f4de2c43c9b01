import type { ErrorCode, Refusal } from '@torpor/contracts'
import { refuse } from '@torpor/contracts'

/** What a router does with a refused wake while the budget of a request lasts. */
export type WakeStep =
  /** The answer stands. */
  | 'answer'
  /** Ask again when there may be room. */
  | 'awaitCapacity'
  /** Ask again after a short back-off. */
  | 'backOff'
  /** Placed, and still on its way: ask again at once and join. */
  | 'join'

const STEPS: Partial<Record<ErrorCode, WakeStep>> = {
  NO_CAPACITY: 'awaitCapacity',
  // SUSPENDING, REVERTING: it ends by itself, and then the actor can be woken.
  ACTOR_STATE_CONFLICT: 'backOff',
  BUS_UNAVAILABLE: 'backOff',
  SHARD_MOVED: 'backOff',
  SHARD_BUSY: 'backOff',
  LOG_UNAVAILABLE: 'backOff',
  NODE_UNAVAILABLE: 'backOff',
  WAKE_TIMEOUT: 'join',
}

export const stepAfter = (refusal: Refusal): WakeStep =>
  // The one conflict that no waiting ends.
  refusal.code === 'ACTOR_STATE_CONFLICT' && refusal.detail === 'ACTOR_STATE_DELETING'
    ? 'answer'
    : (STEPS[refusal.code] ?? 'answer')

/** What a client is told when the budget ended with this refusal: a state that changes is a wait that was too short. */
export const afterBudget = (refusal: Refusal): Refusal =>
  stepAfter(refusal) === 'backOff' && refusal.code === 'ACTOR_STATE_CONFLICT'
    ? refuse('WAKE_TIMEOUT', refusal.id, refusal.detail ?? 'its state is changing')
    : refusal
