import type { Actor, DecisionContext, DomainEvent } from '@torpor/contracts'
import { LIMITS, accept } from '@torpor/contracts'
import type { Rule } from '../commands.ts'
import { revertGeneration } from '../snapshots.ts'
import { stateConflict } from './refusals.ts'

/** Back to the newest COMPLETED snapshot, or to birth. What ran or was stored since is lost. */
export const revertActor: Rule<'RevertActor'> = (actor, { thenResume }, context) => {
  switch (actor.state) {
    case 'ACTOR_STATE_REVERTING':
      return accept([])
    case 'ACTOR_STATE_RUNNING':
    case 'ACTOR_STATE_CRASHED':
      return accept(revertEvents(actor, thenResume, context))
    case 'ACTOR_STATE_SUSPENDED':
    case 'ACTOR_STATE_RESUMING':
    case 'ACTOR_STATE_SUSPENDING':
    case 'ACTOR_STATE_DELETING':
      return stateConflict(actor)
  }
}

/** With a sandbox to end, the revert waits for the node's word; without one it is done at once. */
export function revertEvents(
  actor: Pick<Actor, 'snapshots' | 'worker'>,
  thenResume: boolean,
  { nowMs }: DecisionContext,
): readonly DomainEvent[] {
  const generation = revertGeneration(actor)
  const deadlineAtMs = nowMs + LIMITS.revertDeadlineMs
  const started: DomainEvent = {
    type: 'ActorRevertStarted',
    data: { generation, thenResume, deadlineAtMs },
  }
  return actor.worker === undefined ? [started, { type: 'ActorReverted', data: { generation } }] : [started]
}
