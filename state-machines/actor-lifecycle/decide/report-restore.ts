import type { Actor, Decision, DecisionContext, DomainEvent, ReportData } from '@torpor/contracts'
import { accept } from '@torpor/contracts'
import type { Rule } from '../commands.ts'
import { reportFacts } from '../commands.ts'
import { isCompleted, snapshotOf } from '../snapshots.ts'
import { healingEvents } from './crash.ts'
import { fenced, stateConflict } from './refusals.ts'

/** A report that comes again, or after something newer was decided for the same execution, changes nothing. */
export const reportRestored: Rule<'ReportRestored'> = (actor, { epoch, sequence, phasesMs }) => {
  const refused = fenced(actor, { epoch, sequence })
  if (refused !== undefined) return refused
  if (actor.state !== 'ACTOR_STATE_RESUMING') return accept([])
  return accept([{ type: 'ActorResumed', data: { epoch, sequence, phasesMs } }])
}

/** Nothing of it ran: back to rest, another attempt is free to go elsewhere. Something ran: execution is lost. */
export const reportRestoreFailed: Rule<'ReportRestoreFailed'> = (actor, data, context, command) => {
  const refused = fenced(actor, data)
  if (refused !== undefined) return refused
  if (actor.state !== 'ACTOR_STATE_RESUMING') return accept([])
  const { code, message, ran } = data
  if (actor.golden) return accept([{ type: 'ActorCrashed', data: { code, message } }])
  if (ran) {
    return accept([{ type: 'ActorCrashed', data: { code, message } }, ...healingEvents(actor, context)])
  }
  const node = reportFacts(command).node ?? actor.worker?.node ?? ''
  return code === 'SNAPSHOT_DAMAGED' ? damaged(actor, data, node) : accept([abandoned(data)])
}

/** A damaged copy is given up. Is it the last one, the actor cannot wake as it was: CRASHED, never silently older. */
function damaged(actor: Actor, data: ReportData<'RestoreFailed'>, node: string): Decision {
  const generation = actor.resume?.generation ?? 0
  const row = snapshotOf(actor, generation)
  if (row === undefined) return accept([abandoned(data)])
  if (row.locality !== '' && isCompleted(row)) {
    const detached: DomainEvent = { type: 'SnapshotDetached', data: { generation, node } }
    return accept(row.locality === node ? [detached, abandoned(data)] : [abandoned(data)])
  }
  const { code, message } = data
  return accept([abandoned(data), { type: 'ActorSnapshotLost', data: { generation, code, message } }])
}

const abandoned = ({
  epoch,
  sequence,
  code,
  message,
}: Pick<ReportData<'RestoreFailed'>, 'epoch' | 'sequence' | 'code' | 'message'>): DomainEvent => ({
  type: 'ActorResumeAbandoned',
  data: { epoch, sequence, code, message },
})

/** The control plane gives a resume up: the node refused to go, so nothing of it ran. */
export const abandonResume: Rule<'AbandonResume'> = (actor, data, _context: DecisionContext) => {
  const refused = fenced(actor, data)
  if (refused !== undefined) return refused
  return actor.state === 'ACTOR_STATE_RESUMING' ? accept([abandoned(data)]) : stateConflict(actor)
}
