import type { ChainPosition, EventLog, StoredFrame } from '@torpor/contracts'
import { LIMITS, SUBJECTS, fault, followChain } from '@torpor/contracts'
import type { StagedEvent } from './deciding.ts'
import type { Fold } from './replay.ts'
import { foldFrame } from './replay.ts'

/** Between so many frames other work of the process gets its turn: a lease must be renewed while a long log is read. */
const FRAMES_IN_A_ROW = 16

/** The owner before may have died between commit and publishing: the events of this many last frames are published again. */
const PUBLISHED_AGAIN_FRAMES = LIMITS.appendsInFlightMax * 2

export type Replayed = {
  readonly position: ChainPosition
  /** Of the frames before the last one: our barrier's must be higher. */
  readonly highestEpochBefore: number
}

/**
 * Folds the frames after `from` up to `last`, which is our own barrier. Throws `INTERNAL` when the chain is broken, `SHARD_MOVED`
 * when the shard is given up meanwhile.
 */
export async function replayLog(
  log: EventLog,
  from: ChainPosition,
  last: number,
  isGivenUp: () => boolean,
  fold: Fold,
): Promise<Replayed> {
  let position = from
  let highestEpochBefore = from.epoch
  const events: StagedEvent[] = []
  for await (const stored of readAll(log, fold.shard, from.frame + 1, last)) {
    if (isGivenUp()) throw fault('SHARD_MOVED', `shard ${fold.shard}`)
    const next = followChain(position, stored.bytes)
    if (stored.sequence < last) highestEpochBefore = next.position.epoch
    const committed = (event: StagedEvent): void => void events.push(event)
    const isTail = stored.sequence > last - PUBLISHED_AGAIN_FRAMES
    if (!next.isVoid) foldFrame(next.frame, isTail ? { ...fold, committed } : fold)
    position = next.position
    if (position.frame % FRAMES_IN_A_ROW === 0) await new Promise((resolve) => void setImmediate(resolve))
  }
  for (const { ref, line } of events) log.publishEvent(SUBJECTS.event(ref), line)
  return { position, highestEpochBefore }
}

/** Reads to the end even where a read ends early. */
async function* readAll(
  log: EventLog,
  shard: number,
  from: number,
  last: number,
): AsyncGenerator<StoredFrame> {
  let next = from
  while (next <= last) {
    const before = next
    for await (const stored of log.shard(shard).read(next, last)) {
      if (stored.sequence !== next) {
        throw fault('INTERNAL', `shard ${shard}`, {
          detail: `its log gave frame ${stored.sequence} for ${next}`,
        })
      }
      next += 1
      yield stored
    }
    if (next === before) {
      throw fault('INTERNAL', `shard ${shard}`, { detail: `its log ends before frame ${last}` })
    }
  }
}
