import type { CloudEvent, Frame, Outcome } from '@torpor/contracts'
import {
  NO_PREVIOUS,
  domainEventOf,
  fault,
  parseCloudEvent,
  parseEntityKey,
  refuse,
  sha256Hex,
} from '@torpor/contracts'
import type { ErrorCode } from '@torpor/contracts'
import type { Desk, StagedEvent } from './deciding.ts'
import { foldedOn } from './deciding.ts'

export const shardSubject = (shard: number): string => `shard/${shard}`

export type Fold = {
  readonly shard: number
  readonly shards: number
  readonly desk: Desk
  /** Commands of frames before this time cannot come again: they are not remembered. */
  readonly rememberFromMs: number
  /** Called for each event of an entity, after it is folded. */
  readonly committed?: (event: StagedEvent) => void
}

/**
 * Folds a stored frame that counts into committed state and idempotency window: what an owner learns from the log, it learns
 * here. Throws `INTERNAL` when an event does not follow the one before it.
 */
export function foldFrame(frame: Frame, fold: Fold): void {
  for (const line of frame.lines) foldLine(line, frame, fold)
}

function foldLine(line: string, frame: Frame, fold: Fold): void {
  const cloudEvent = parseCloudEvent(line)
  if (cloudEvent.subject === shardSubject(fold.shard)) return checkShardEvent(cloudEvent, fold)
  const event = domainEventOf(cloudEvent)
  const refused = event?.type === 'CommandRefused' ? event.data : undefined
  const before = fold.desk.state.committed(cloudEvent.subject)
  if (refused !== undefined) {
    const refusal = { ...refuse(refused.code as ErrorCode, refused.id), message: refused.message }
    remember(cloudEvent, frame, fold, { ok: false, refusal, duplicate: false })
    report(fold, cloudEvent, line, before?.state, before?.state, undefined)
    return
  }
  const { version } = cloudEvent
  assertFollows(cloudEvent, version === 1 ? undefined : before)
  const ref = before?.ref ?? parseEntityKey(cloudEvent.subject)
  const position = { version, epoch: cloudEvent.epoch, timeMs: frame.header.timeMs }
  const decider = fold.desk.deciders.get(ref.kind)
  const on = foldedOn(before?.state, version)
  const state = decider === undefined || event === undefined ? on : decider.evolve(on, event, ref, position)
  const hash = sha256Hex(line)
  const entity = {
    key: cloudEvent.subject,
    ref,
    state,
    version,
    lineHash: hash,
    frame: frame.header.frame,
  }
  fold.desk.state.commit(entity)
  remember(cloudEvent, frame, fold, { ok: true, version, result: undefined, duplicate: false })
  report(fold, cloudEvent, line, before?.state, state, entity)
}

function checkShardEvent(cloudEvent: CloudEvent, fold: Fold): void {
  const event = domainEventOf(cloudEvent)
  if (event?.type === 'ShardCreated' && event.data.shards !== fold.shards) {
    throw fault('CONFIG_INVALID', `shard ${fold.shard}`, {
      detail: `the log was made for ${event.data.shards} shards, this system is set to ${fold.shards}`,
    })
  }
}

function assertFollows(
  event: CloudEvent,
  before: { readonly version: number; readonly lineHash: string } | undefined,
): void {
  const follows =
    event.version === (before?.version ?? 0) + 1 && event.actorprev === (before?.lineHash ?? NO_PREVIOUS)
  if (follows) return
  throw fault('INTERNAL', `${event.subject} version ${event.version}`, {
    detail: `does not follow version ${before?.version ?? 0}: the chain is broken`,
  })
}

/**
 * The first event of a command carries its digest, the others follow in the same frame: only the version goes on. A refusal of an
 * id that is known is the refusal of a second command under the same id.
 */
function remember(event: CloudEvent, { header }: Frame, fold: Fold, outcome: Outcome): void {
  if (header.timeMs < fold.rememberFromMs) return
  const { window } = fold.desk
  const { commanddigest: digest, causationid } = event
  if (digest === undefined) return window.amend(causationid, outcome)
  if (!outcome.ok && window.find(causationid) !== undefined) return
  window.remember(causationid, { digest, outcome, timeMs: header.timeMs, frame: header.frame })
}

function report(
  fold: Fold,
  cloudEvent: CloudEvent,
  line: string,
  before: unknown,
  after: unknown,
  entity: StagedEvent['entity'],
): void {
  const event = domainEventOf(cloudEvent)
  if (fold.committed === undefined || event === undefined) return
  const ref = entity?.ref ?? parseEntityKey(cloudEvent.subject)
  fold.committed({ line, hash: '', bytes: 0, ref, event, before, after, entity })
}
