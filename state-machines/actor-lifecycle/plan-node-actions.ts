import type { Actor, NodeCommandData, NodeCommandName, Snapshot, WorkerAssignment } from '@torpor/contracts'
import { isCompleted, isOwn, newestSnapshot, snapshotOf } from './snapshots.ts'
import { hasTimer } from './timers.ts'

type PlannedVerb = Extract<
  NodeCommandName,
  'Go' | 'Checkpoint' | 'Terminate' | 'Upload' | 'DropSnapshot' | 'CollectSnapshot'
>

/** Something that the log wants of a node. `key` is unique per wanted action: one flight each is enough. */
export type NodeAction = {
  readonly [Verb in PlannedVerb]: {
    /** Empty: any node will do. */
    readonly node: string
    readonly verb: Verb
    readonly key: string
    readonly data: NodeCommandData<Verb>
  }
}[PlannedVerb]

/**
 * What the actor's committed state wants of nodes now. Level-triggered: the same state always wants the same, whoever asks
 * and however often; a want ends when a report has changed the state. `prepareId` of Go is left empty: the executor puts in
 * the admission that it holds, if it does.
 */
export function planNodeActions(actor: Actor): readonly NodeAction[] {
  return [
    ...executionActions(actor),
    ...uploadActions(actor),
    ...dropActions(actor),
    ...collectActions(actor),
  ]
}

function executionActions(actor: Actor): readonly NodeAction[] {
  const { worker, suspend } = actor
  if (worker === undefined) return []
  switch (actor.state) {
    case 'ACTOR_STATE_RESUMING':
      return [goAction(actor, worker)]
    case 'ACTOR_STATE_SUSPENDING':
      if (suspend === undefined || suspend.checkpointed !== undefined) return []
      return [checkpointAction(actor, worker, suspend)]
    case 'ACTOR_STATE_REVERTING':
    case 'ACTOR_STATE_DELETING':
      return [terminateAction(actor, worker)]
    default:
      return []
  }
}

function goAction(actor: Actor, worker: WorkerAssignment): NodeAction {
  const snapshot = snapshotOf(actor, actor.resume?.generation ?? 0)
  const data = {
    ...named(actor),
    ...tokenOf(worker),
    prepareId: '',
    worker: worker.worker,
    spec: actor.spec,
    templateUid: actor.template.uid,
    ...(snapshot === undefined ? {} : { snapshot }),
  }
  return { node: worker.node, verb: 'Go', key: keyOf(actor, 'Go', assignmentKey(worker)), data }
}

function checkpointAction(
  actor: Actor,
  worker: WorkerAssignment,
  suspend: NonNullable<Actor['suspend']>,
): NodeAction {
  const { generation, drain, drainMs } = suspend
  const data = {
    ...named(actor),
    ...tokenOf(worker),
    generation,
    templateUid: actor.template.uid,
    drain,
    drainMs,
  }
  return { node: worker.node, verb: 'Checkpoint', key: keyOf(actor, 'Checkpoint', generation), data }
}

const terminateAction = (actor: Actor, worker: WorkerAssignment): NodeAction => ({
  node: worker.node,
  verb: 'Terminate',
  key: keyOf(actor, 'Terminate', assignmentKey(worker)),
  data: { ...named(actor), ...tokenOf(worker) },
})

/** Only the newest generation is worth its bytes: an older one that is PENDING still is superseded. */
function uploadActions(actor: Actor): readonly NodeAction[] {
  if (actor.state === 'ACTOR_STATE_REVERTING' || actor.state === 'ACTOR_STATE_DELETING') return []
  const row = actor.suspend?.checkpointed ?? newestSnapshot(actor)
  if (row === undefined || !isOwn(row) || isCompleted(row) || row.locality === '') return []
  if (hasTimer(actor, 'upload', row.generation)) return []
  const { generation, manifestDigest, uri } = row
  const digest = manifestDigest === undefined ? {} : { manifestDigest }
  const data = { ...named(actor), generation, ...digest, uri }
  // Each attempt is an action of its own: the one before was taken, and failed.
  const key = keyOf(actor, 'Upload', `${generation}.${row.attempts}`)
  return [{ node: row.locality, verb: 'Upload', key, data }]
}

const dropActions = (actor: Actor): readonly NodeAction[] =>
  actor.snapshots
    .filter((row) => isDetachDue(actor, row))
    .map((row) => ({
      node: row.locality,
      verb: 'DropSnapshot',
      key: keyOf(actor, 'DropSnapshot', row.generation),
      data: { ...named(actor), generation: row.generation },
    }))

/** Not while a restore reads that copy. */
const isDetachDue = (actor: Actor, row: Snapshot): boolean =>
  row.locality !== '' &&
  isCompleted(row) &&
  !hasTimer(actor, 'detach', row.generation) &&
  actor.resume?.generation !== row.generation

/** A delete ends the sandbox first: it may still read what would be collected. */
function collectActions(actor: Actor): readonly NodeAction[] {
  if (actor.state === 'ACTOR_STATE_DELETING' && actor.worker !== undefined) return []
  return actor.collect.map(({ generation, node, uri }) => ({
    node,
    verb: 'CollectSnapshot',
    // Another node than before is another action: the one that was asked first is lost.
    key: keyOf(actor, 'CollectSnapshot', `${generation}.${node}`),
    data: { ...named(actor), generation, uri },
  }))
}

const named = (actor: Actor) => ({ actorUid: actor.uid, atespace: actor.atespace, name: actor.name })
const tokenOf = ({ epoch, sequence }: WorkerAssignment) => ({ epoch, sequence })
const assignmentKey = ({ epoch, sequence }: WorkerAssignment): string => `${epoch}.${sequence}`
const keyOf = (actor: Actor, verb: PlannedVerb, what: string | number): string =>
  `${actor.uid}/${verb}/${what}`
