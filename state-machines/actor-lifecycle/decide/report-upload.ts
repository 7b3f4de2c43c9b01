import type { Actor, Decision, DomainEvent, EventOf, Snapshot } from '@torpor/contracts'
import { accept, refuse, reject } from '@torpor/contracts'
import type { Rule } from '../commands.ts'
import { isCompleted, isOwn, lowerGenerations, newestSnapshot, snapshotOf } from '../snapshots.ts'
import { uploadBackoffMs } from '../timers.ts'
import { nameOf } from './refusals.ts'

/**
 * A generation lies in the object store. Counts in any state, also after the next wake: it is fenced by generation and
 * digest, not by assignment. Only now lower generations are released.
 */
export const reportUploaded: Rule<'ReportUploaded'> = (actor, data, context) => {
  const { generation, manifestDigest, uri } = data
  const row = waiting(actor, generation)
  if (row === undefined) return accept([])
  if (isOther(row, manifestDigest)) return otherBytes(actor, generation)
  const released = lowerGenerations(actor, generation).map(releasedEvent)
  if (row === actor.suspend?.checkpointed) {
    return accept([suspendedSync(actor, { ...row, manifestDigest, uri }, context.nowMs), ...released])
  }
  const completed: DomainEvent = { type: 'SnapshotCompleted', data: { generation, manifestDigest, uri } }
  return accept([completed, ...released])
}

/** A failed upload stays PENDING and is tried again: it never harms the actor. */
export const reportUploadFailed: Rule<'ReportUploadFailed'> = (actor, data, { nowMs }) => {
  const { generation, manifestDigest, code, message } = data
  const row = waiting(actor, generation)
  if (row === undefined || isSuperseded(actor, row)) return accept([])
  if (isOther(row, manifestDigest)) return otherBytes(actor, generation)
  const attempts = row.attempts + 1
  const nextAttemptAtMs = nowMs + uploadBackoffMs(attempts)
  const failed = { generation, attempts, nextAttemptAtMs, lastError: `${code}: ${message}` }
  return accept([{ type: 'SnapshotUploadFailed', data: failed }])
}

/** Until an upload tells, the log does not know what the node's copy is. */
const isOther = (row: Snapshot, manifestDigest: string | undefined): boolean =>
  row.manifestDigest !== undefined && row.manifestDigest !== manifestDigest

/** The generation whose upload is not done; undefined also when a revert has given it up already. */
function waiting(actor: Actor, generation: number): Snapshot | undefined {
  if (actor.state === 'ACTOR_STATE_REVERTING' || actor.state === 'ACTOR_STATE_DELETING') return undefined
  const checkpointed = actor.suspend?.checkpointed
  if (checkpointed?.generation === generation) return checkpointed
  const row = snapshotOf(actor, generation)
  return row === undefined || isCompleted(row) || !isOwn(row) ? undefined : row
}

const isSuperseded = (actor: Actor, row: Snapshot): boolean =>
  row.generation < (newestSnapshot(actor)?.generation ?? 0)

const suspendedSync = (actor: Actor, row: Snapshot, nowMs: number): EventOf<'ActorSuspended'> => {
  const { nextAttemptAtMs: _next, lastError: _error, ...rest } = row
  const snapshot: Snapshot = { ...rest, storageState: 'SNAPSHOT_STORAGE_STATE_COMPLETED' }
  const detachAtMs = nowMs + actor.spec.snapshotConfig.detachDelay
  return { type: 'ActorSuspended', data: { snapshot, phasesMs: {}, detachAtMs } }
}

export const releasedEvent = (generation: number): DomainEvent => ({
  type: 'SnapshotReleased',
  data: { generation },
})

const otherBytes = (actor: Actor, generation: number): Decision =>
  reject(refuse('SNAPSHOT_UNKNOWN', `${nameOf(actor)} generation ${generation}`, 'has another digest'))
