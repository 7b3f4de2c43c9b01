import type { Actor, Assignment, Decision } from '@torpor/contracts'
import { compareAssignments, refuse, reject } from '@torpor/contracts'

export const nameOf = (actor: Actor): string => `${actor.atespace}/${actor.name}`

/** "No" because of the state the actor is in; `detail` names it. */
export const stateConflict = (actor: Actor): Decision =>
  reject(refuse('ACTOR_STATE_CONFLICT', nameOf(actor), actor.state))

export const hasCrashed = (actor: Actor): Decision =>
  reject(refuse('ACTOR_CRASHED', nameOf(actor), crashText(actor)))

const crashText = ({ crash }: Actor): string | undefined =>
  crash === undefined ? undefined : `${crash.code}: ${crash.message}`

/**
 * The fence: an execution report counts only when it carries the assignment that is in force. Gives the refusal of one that
 * does not; undefined when it counts.
 */
export function fenced(
  actor: Actor,
  { epoch, sequence }: Pick<Assignment, 'epoch' | 'sequence'>,
): Decision | undefined {
  const { worker } = actor
  if (worker !== undefined && compareAssignments({ actorUid: actor.uid, epoch, sequence }, worker) === 0) {
    return undefined
  }
  const now = worker === undefined ? 'none' : `${worker.epoch}.${worker.sequence}`
  return reject(refuse('ASSIGNMENT_OLD', nameOf(actor), `${epoch}.${sequence}, in force: ${now}`))
}
