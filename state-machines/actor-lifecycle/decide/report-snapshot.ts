import type { Actor, Decision, DomainEvent } from '@torpor/contracts'
import { accept } from '@torpor/contracts'
import type { Rule } from '../commands.ts'
import { reportFacts } from '../commands.ts'
import { isCompleted, newestSnapshot, snapshotOf } from '../snapshots.ts'
import { endIfNothingLeft } from './delete-actor.ts'
import { releasedEvent } from './report-upload.ts'

/** The node has removed its copy. Of a generation that the object store does not have, that is a loss. */
export const reportSnapshotDropped: Rule<'ReportSnapshotDropped'> = (actor, { generation }, _, command) =>
  copyGone(actor, generation, reportFacts(command).node, {
    code: 'SNAPSHOT_UNKNOWN',
    message: `generation ${generation} was dropped before it was stored`,
  })

/** The node's copy is gone or damaged; it can speak of its own copy only. */
export const reportSnapshotLost: Rule<'ReportSnapshotLost'> = (actor, data, _, command) => {
  const { generation, code, message } = data
  return copyGone(actor, generation, reportFacts(command).node, { code, message })
}

type Reason = { readonly code: string; readonly message: string }

function copyGone(actor: Actor, generation: number, node: string | undefined, reason: Reason): Decision {
  const row = snapshotOf(actor, generation)
  if (row === undefined || row.locality === '' || (node !== undefined && row.locality !== node)) {
    return accept([])
  }
  if (isCompleted(row)) {
    return accept([{ type: 'SnapshotDetached', data: { generation, node: row.locality } }])
  }
  return accept(lastCopyGone(actor, generation, reason))
}

/** At rest, the newest generation is what the actor is: lost, it cannot wake. While it runs, it has moved on. */
function lastCopyGone(actor: Actor, generation: number, reason: Reason): readonly DomainEvent[] {
  const isNewest = newestSnapshot(actor)?.generation === generation
  switch (actor.state) {
    case 'ACTOR_STATE_SUSPENDED':
      if (!isNewest) return [releasedEvent(generation)]
      return [{ type: 'ActorSnapshotLost', data: { generation, ...reason } }]
    case 'ACTOR_STATE_RESUMING':
      // The restore itself will say whether it had read what it needed.
      return actor.resume?.generation === generation ? [] : [releasedEvent(generation)]
    case 'ACTOR_STATE_RUNNING':
    case 'ACTOR_STATE_SUSPENDING':
    case 'ACTOR_STATE_CRASHED':
      return [releasedEvent(generation)]
    case 'ACTOR_STATE_REVERTING':
    case 'ACTOR_STATE_DELETING':
      return []
  }
}

/** A generation that nothing refers to is removed; the last one of an actor that is being deleted ends it. */
export const reportSnapshotCollected: Rule<'ReportSnapshotCollected'> = (actor, { generation }, context) => {
  if (!actor.collect.some((entry) => entry.generation === generation)) return accept([])
  const collected: DomainEvent = { type: 'SnapshotCollected', data: { generation } }
  if (actor.state !== 'ACTOR_STATE_DELETING') return accept([collected])
  const collect = actor.collect.filter((entry) => entry.generation !== generation)
  return accept([collected, ...endIfNothingLeft({ ...actor, collect }, context)])
}
