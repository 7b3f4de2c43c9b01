import type { Actor, ActorStateName, Timer, TimerKind } from '@torpor/contracts'
import { LIMITS } from '@torpor/contracts'

/** How long an -ING state may last before somebody asks the node what became of it. */
export const DEADLINES_MS = {
  ACTOR_STATE_RESUMING: LIMITS.resumeDeadlineMs,
  ACTOR_STATE_SUSPENDING: LIMITS.suspendDeadlineMs,
  ACTOR_STATE_REVERTING: LIMITS.revertDeadlineMs,
  ACTOR_STATE_DELETING: LIMITS.deleteDeadlineMs,
} as const satisfies Partial<Record<ActorStateName, number>>

export const isTransient = (state: ActorStateName): state is keyof typeof DEADLINES_MS =>
  Object.hasOwn(DEADLINES_MS, state)

/** Ids carry what makes them unique, so that a firing that comes late finds its timer gone instead of the next one. */
export const deadlineTimer = (version: number, dueAtMs: number): Timer => ({
  id: `deadline-${version}`,
  kind: 'deadline',
  dueAtMs,
})
export const uploadTimer = (generation: number, attempts: number, dueAtMs: number): Timer => ({
  id: `upload-${generation}-${attempts}`,
  kind: 'upload',
  dueAtMs,
  generation,
})
export const detachTimer = (generation: number, dueAtMs: number): Timer => ({
  id: `detach-${generation}`,
  kind: 'detach',
  dueAtMs,
  generation,
})

export const hasTimer = (actor: Pick<Actor, 'timers'>, kind: TimerKind, generation: number): boolean =>
  actor.timers.some((timer) => timer.kind === kind && timer.generation === generation)

/** Wait before upload attempt `attempts + 1`, doubling between two limits. */
export const uploadBackoffMs = (attempts: number): number =>
  Math.min(LIMITS.uploadBackoffMsMin * 2 ** Math.min(attempts - 1, 30), LIMITS.uploadBackoffMsMax)
