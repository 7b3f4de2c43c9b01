import type { Actor, Decision, DomainEvent, EventOf, Snapshot } from '@torpor/contracts'
import { accept, refuse, reject } from '@torpor/contracts'
import type { Rule } from '../commands.ts'
import { reportFacts } from '../commands.ts'
import { isCompleted, isOwn, snapshotOf } from '../snapshots.ts'
import { fenced, nameOf, stateConflict } from './refusals.ts'

/** The image is kept on the node: async mode is at rest now and uploads later, sync mode uploads first. */
export const reportCheckpointed: Rule<'ReportCheckpointed'> = (actor, data, context, command) => {
  const { snapshot, phasesMs } = data
  if (isKnown(actor, snapshot)) return accept([])
  const refused = fenced(actor, data)
  if (refused !== undefined) return refused
  const { suspend, worker, state } = actor
  if (state === 'ACTOR_STATE_REVERTING' || state === 'ACTOR_STATE_DELETING') return accept([])
  if (suspend === undefined) return stateConflict(actor)
  if (snapshot.generation !== suspend.generation) return wrongGeneration(actor, snapshot.generation)
  const node = reportFacts(command).node ?? worker?.node ?? ''
  const kept = keptOnNode(snapshot, node)
  if (suspend.mode === 'sync') {
    return accept([{ type: 'ActorCheckpointed', data: { snapshot: kept, phasesMs } }])
  }
  return accept([suspendedAsync(actor, kept, phasesMs, context.nowMs)])
}

/** A generation is never used twice: the same number is the same image. */
const isKnown = (actor: Actor, { generation }: Snapshot): boolean =>
  [snapshotOf(actor, generation), actor.suspend?.checkpointed].some((row) => row?.generation === generation)

const keptOnNode = (snapshot: Snapshot, node: string): Snapshot => ({
  ...snapshot,
  owner: 'SNAPSHOT_OWNER_ACTOR',
  storageState: 'SNAPSHOT_STORAGE_STATE_PENDING',
  locality: node,
  attempts: 0,
})

/** At rest with the image on the node only, PENDING. */
export function suspendedAsync(
  actor: Actor,
  snapshot: Snapshot,
  phasesMs: Readonly<Record<string, number>>,
  nowMs: number,
): EventOf<'ActorSuspended'> {
  const { uploadDelay, detachDelay } = actor.spec.snapshotConfig
  const uploadAtMs = Math.min(nowMs + uploadDelay, supersededUploadAtMs(actor) ?? Number.POSITIVE_INFINITY)
  return {
    type: 'ActorSuspended',
    data: { snapshot, phasesMs: { ...phasesMs }, uploadAtMs, detachAtMs: nowMs + detachDelay },
  }
}

/** An actor that suspends again and again keeps its first upload time: else no upload would ever come due. */
function supersededUploadAtMs(actor: Actor): number | undefined {
  const pending = new Set(
    actor.snapshots.filter((row) => isOwn(row) && !isCompleted(row)).map(({ generation }) => generation),
  )
  return actor.timers.find(
    ({ kind, generation }) => kind === 'upload' && generation !== undefined && pending.has(generation),
  )?.dueAtMs
}

/** Drain refused, no disk, or the checkpoint failed with the sandbox alive: it goes on running. */
export const reportCheckpointAbandoned: Rule<'ReportCheckpointAbandoned'> = (actor, data): Decision => {
  const refused = fenced(actor, data)
  if (refused !== undefined) return refused
  const { suspend } = actor
  if (suspend === undefined || suspend.checkpointed !== undefined) return accept([])
  if (data.generation !== suspend.generation) return accept([])
  const { code, message } = data
  const event: DomainEvent = { type: 'ActorSuspendAbandoned', data: { code, message } }
  return accept([event])
}

const wrongGeneration = (actor: Actor, generation: number): Decision =>
  reject(refuse('SNAPSHOT_UNKNOWN', `${nameOf(actor)} generation ${generation}`, 'was not asked for'))
