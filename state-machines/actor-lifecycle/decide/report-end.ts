import type { DomainEvent } from '@torpor/contracts'
import { accept } from '@torpor/contracts'
import type { Rule } from '../commands.ts'
import { revertGeneration } from '../snapshots.ts'
import { healingEvents } from './crash.ts'
import { endIfNothingLeft } from './delete-actor.ts'
import { fenced } from './refusals.ts'

/** The process ended, or was killed, unasked. An image that was taken before stays: then nothing is lost. */
export const reportExited: Rule<'ReportExited'> = (actor, data, context) => {
  const refused = fenced(actor, data)
  if (refused !== undefined) return refused
  switch (actor.state) {
    case 'ACTOR_STATE_RESUMING': {
      const { code, message } = data
      return accept([{ type: 'ActorCrashed', data: { code, message } }, ...healingEvents(actor, context)])
    }
    case 'ACTOR_STATE_RUNNING':
    case 'ACTOR_STATE_SUSPENDING':
      if (actor.suspend?.checkpointed !== undefined) return accept([])
      return accept([{ type: 'ActorExited', data }, ...healingEvents(actor, context)])
    default:
      return accept([])
  }
}

/** The sandbox is ended as asked: a revert is done, a delete goes on with what is stored. */
export const reportTerminated: Rule<'ReportTerminated'> = (actor, { epoch, sequence }, context) => {
  const refused = fenced(actor, { epoch, sequence })
  if (refused !== undefined) return refused
  if (actor.state === 'ACTOR_STATE_REVERTING') {
    const generation = actor.revert?.generation ?? revertGeneration(actor)
    return accept([{ type: 'ActorReverted', data: { generation } }])
  }
  if (actor.state !== 'ACTOR_STATE_DELETING') return accept([])
  const reason = { code: 'ACTOR_EXITED', message: 'ended to be deleted' }
  const ended: DomainEvent = { type: 'ActorExited', data: { epoch, sequence, ...reason } }
  return accept([ended, ...endIfNothingLeft({ collect: actor.collect }, context)])
}
