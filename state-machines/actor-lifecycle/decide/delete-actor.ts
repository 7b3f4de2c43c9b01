import type { Actor, DecisionContext, DomainEvent } from '@torpor/contracts'
import { LIMITS, accept } from '@torpor/contracts'
import type { Rule } from '../commands.ts'
import { isOwn } from '../snapshots.ts'
import { stateConflict } from './refusals.ts'

/** Delete wins over whatever is under way when `anyState` is set; a second one joins. */
export const deleteActor: Rule<'DeleteActor'> = (actor, { anyState }, context) => {
  if (actor.state === 'ACTOR_STATE_DELETING') return accept([])
  const isAtRest = actor.state === 'ACTOR_STATE_SUSPENDED' || actor.state === 'ACTOR_STATE_CRASHED'
  if (!isAtRest && !anyState) return stateConflict(actor)
  const deadlineAtMs = context.nowMs + LIMITS.deleteDeadlineMs
  const started: DomainEvent = { type: 'ActorDeleteStarted', data: { deadlineAtMs } }
  const leavesNothing =
    actor.worker === undefined && actor.collect.length === 0 && !actor.snapshots.some(isOwn)
  return accept(leavesNothing ? [started, deletedEvent(context)] : [started])
}

const deletedEvent = ({ nowMs }: DecisionContext): DomainEvent => ({
  type: 'ActorDeleted',
  data: { goneUntilMs: nowMs + LIMITS.goneMs },
})

/** DELETING: the end, once neither a sandbox nor a stored generation is left. */
export const endIfNothingLeft = (
  left: Pick<Actor, 'collect'> & { readonly worker?: unknown },
  context: DecisionContext,
): readonly DomainEvent[] =>
  left.worker === undefined && left.collect.length === 0 ? [deletedEvent(context)] : []
