import type { Clock, EventLog, Frame, ReadModel } from '@torpor/contracts'
import { LIMITS, decodeFrame, sleep } from '@torpor/contracts'
import type { KnownStates } from './fold-frames.ts'
import { foldFrames } from './fold-frames.ts'

export type ShardProjection = {
  readonly log: EventLog
  readonly model: ReadModel
  readonly clock: Clock
  readonly note: (level: 'info' | 'warn', message: string, fields?: Readonly<Record<string, unknown>>) => void
}

/**
 * Keeps the rows of one shard up with its log, until the signal. A database that is away is waited for without end, with
 * `projectorBackoffMsMin`–`projectorBackoffMsMax` between tries: the log loses nothing meanwhile.
 */
export async function projectShard(
  projection: ShardProjection,
  shard: number,
  signal: AbortSignal,
): Promise<void> {
  const { clock, note } = projection
  for (let waitMs: number = LIMITS.projectorBackoffMsMin; !signal.aborted;) {
    try {
      await followShard(projection, shard, signal, () => (waitMs = LIMITS.projectorBackoffMsMin))
    } catch (cause) {
      note('warn', `shard ${shard} waits ${waitMs} ms`, { cause: String(cause) })
    }
    if (signal.aborted) return
    await sleep(clock, waitMs)
    waitMs = Math.min(2 * waitMs, LIMITS.projectorBackoffMsMax)
  }
}

/** Ends when another projector moved the position; rejects when the database or the log fails. */
async function followShard(
  { log, model }: ShardProjection,
  shard: number,
  signal: AbortSignal,
  wrote: () => void,
): Promise<void> {
  const known: KnownStates = new Map()
  let position = await model.position(shard)
  for await (const batch of inBatches(log.shard(shard).follow(position + 1, signal))) {
    const frames = batch.map(({ frame }) => frame)
    const last = batch.at(-1)?.sequence ?? position
    if (known.size > LIMITS.projectorStatesKeptMax) known.clear()
    const changes = await foldFrames(frames, known, model)
    if (!(await model.apply(shard, position, last, changes))) return
    position = last
    wrote()
  }
}

type Stored = { readonly sequence: number; readonly frame: Frame }

/** What came while the batch before was being written is the next batch, bounded by `projectorBatchEventsMax`. */
async function* inBatches(
  frames: AsyncIterable<{ readonly sequence: number; readonly bytes: Uint8Array }>,
): AsyncIterable<readonly Stored[]> {
  const iterator = frames[Symbol.asyncIterator]()
  let next = iterator.next()
  try {
    for (;;) {
      const batch: Stored[] = []
      let events = 0
      let arrived: Awaited<typeof next> | undefined = await next
      while (arrived !== undefined && arrived.done !== true) {
        const frame = decodeFrame(arrived.value.bytes)
        batch.push({ sequence: arrived.value.sequence, frame })
        events += frame.lines.length
        next = iterator.next()
        arrived = events < LIMITS.projectorBatchEventsMax ? await ifArrived(next) : undefined
      }
      if (batch.length > 0) yield batch
      if (arrived?.done === true) return
    }
  } finally {
    await iterator.return?.()
  }
}

/** The value if it is there already, else undefined: a turn of the event loop is waited for, no longer. */
const ifArrived = <Value>(promise: Promise<Value>): Promise<Value | undefined> =>
  Promise.race([promise, new Promise<undefined>((resolve) => setImmediate(resolve, undefined))])
