import type { Actor, DecisionContext, DomainEvent } from '@torpor/contracts'
import { accept } from '@torpor/contracts'
import type { Rule } from '../commands.ts'
import { isCompleted, newestSnapshot, revertGeneration } from '../snapshots.ts'
import { healingEvents } from './crash.ts'
import { endIfNothingLeft } from './delete-actor.ts'
import { suspendedAsync } from './report-checkpoint.ts'

/** A node is lost, and was fenced before: what ran there has ended, what is stored there may come back with it. */
export const declareNodeLost: Rule<'DeclareNodeLost'> = (actor, { node }, context) => {
  if (actor.state === 'ACTOR_STATE_DELETING') return accept(deleteWithout(actor, node, context))
  if (actor.worker?.node !== node) return accept([])
  const lost: DomainEvent = { type: 'ActorNodeLost', data: { node } }
  switch (actor.state) {
    case 'ACTOR_STATE_RUNNING':
    case 'ACTOR_STATE_RESUMING':
      return accept([lost, ...healing(actor, node, context)])
    case 'ACTOR_STATE_SUSPENDING': {
      const checkpointed = actor.suspend?.checkpointed
      if (checkpointed === undefined) return accept([lost, ...healing(actor, node, context)])
      // The image was taken: nothing is lost, it waits on the node like an asynchronous one.
      return accept([suspendedAsync(actor, checkpointed, {}, context.nowMs)])
    }
    case 'ACTOR_STATE_REVERTING': {
      const generation = actor.revert?.generation ?? revertGeneration(actor)
      return accept([{ type: 'ActorReverted', data: { generation } }])
    }
    case 'ACTOR_STATE_SUSPENDED':
    case 'ACTOR_STATE_CRASHED':
      return accept([])
  }
}

/** A newer state that only the lost node has may come back: going to an older one is then for a person to decide. */
function healing(actor: Actor, node: string, context: DecisionContext): readonly DomainEvent[] {
  const newest = newestSnapshot(actor)
  const mayComeBack = newest !== undefined && !isCompleted(newest) && newest.locality === node
  return mayComeBack ? [] : healingEvents(actor, context)
}

/** The node cannot confirm any more: its sandbox counts as ended, its copies as gone with it. */
function deleteWithout(actor: Actor, node: string, context: DecisionContext): readonly DomainEvent[] {
  const ranThere = actor.worker?.node === node
  if (!ranThere && !actor.collect.some((entry) => entry.node === node)) return []
  const { worker: _lost, ...ended } = actor
  const lost: DomainEvent = { type: 'ActorNodeLost', data: { node } }
  return [lost, ...endIfNothingLeft(ranThere ? ended : actor, context)]
}
