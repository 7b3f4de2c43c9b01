import type { ChainPosition, Clock, EventLog, Frame, ReadModel, StoredFrame } from '@torpor/contracts'
import { LIMITS, followChain } from '@torpor/contracts'
import type { KnownStates } from './fold-frames.ts'
import { foldFrames, forgetOldest } from './fold-frames.ts'
import { inBatches } from './frame-batches.ts'
import type { Note } from './retry-forever.ts'
import { retryForever } from './retry-forever.ts'

export type ShardProjection = {
  readonly log: EventLog
  readonly model: ReadModel
  readonly clock: Clock
  readonly note: Note
}

/**
 * Keeps the rows of one shard up with its log, until the signal.
 * 1. Rows and position move in one transaction, and only from the position that was folded from: two projectors of one shard
 *    cost work, never rows.
 * 2. Frames of fenced owners are passed over, as by every reader; a chain that is broken is not folded further.
 * 3. After any failure nothing in memory is kept: the next try begins at the rows.
 */
export const projectShard = (
  projection: ShardProjection,
  shard: number,
  signal: AbortSignal,
): Promise<void> =>
  retryForever(`projection of shard ${shard}`, projection, signal, async (wentWell) => {
    await followShard(projection, shard, signal, wentWell)
    return signal.aborted ? 'done' : 'again'
  })

/** Ends at the signal, or when another projector moved the position; rejects when the database or the log fails. */
async function followShard(
  { log, model }: ShardProjection,
  shard: number,
  signal: AbortSignal,
  wentWell: () => void,
): Promise<void> {
  const statesMax = Math.floor(LIMITS.projectorStatesKeptMax / log.shards)
  const known: KnownStates = new Map()
  let position = await model.position(shard)
  const follow = (end: AbortSignal) => log.shard(shard).follow(position.frame + 1, end)
  for await (const batch of inBatches(follow, signal)) {
    const { frames, to } = readChain(position, batch)
    const changes = await foldFrames(frames, known, model)
    if (!(await model.apply(shard, position, to, changes))) return
    position = to
    forgetOldest(known, statesMax)
    wentWell()
  }
}

/** The frames of a batch that count, and where the chain stands after all of them. */
function readChain(
  from: ChainPosition,
  batch: readonly StoredFrame[],
): { readonly frames: readonly Frame[]; readonly to: ChainPosition } {
  const frames: Frame[] = []
  let to = from
  for (const { bytes } of batch) {
    const { frame, isVoid, position } = followChain(to, bytes)
    if (!isVoid) frames.push(frame)
    to = position
  }
  return { frames, to }
}
