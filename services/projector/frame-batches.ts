import type { StoredFrame } from '@torpor/contracts'
import { LIMITS } from '@torpor/contracts'

/**
 * Frames in batches: what came while the batch before was being written, bounded by
 * `projectorBatchBytesMax` (and the one frame that goes over it). A reader that leaves the loop ends the following.
 */
export async function* inBatches(
  follow: (signal: AbortSignal) => AsyncIterable<StoredFrame>,
  signal: AbortSignal,
): AsyncIterable<readonly StoredFrame[]> {
  const leaving = new AbortController()
  const frames = follow(AbortSignal.any([signal, leaving.signal]))[Symbol.asyncIterator]()
  const askNext = () => {
    const asked = frames.next()
    // It may fail while nobody waits for it; whoever waits next is told all the same.
    asked.catch(() => undefined)
    return asked
  }
  let next = askNext()
  try {
    for (let isOver = false; !isOver;) {
      const batch: StoredFrame[] = []
      let roomBytes: number = LIMITS.projectorBatchBytesMax
      for (let arrived: Awaited<typeof next> | undefined = await next; arrived !== undefined;) {
        isOver = arrived.done === true
        if (arrived.done === true) break
        batch.push(arrived.value)
        roomBytes -= arrived.value.bytes.length
        next = askNext()
        arrived = roomBytes > 0 ? await ifArrived(next) : undefined
      }
      if (batch.length > 0) yield batch
    }
  } finally {
    // A frame is asked for all the time: without this, the end of the following would wait for one more to come.
    leaving.abort()
    await next.catch(() => undefined)
    await frames.return?.()
  }
}

/** The value if it is there already, else undefined: a turn of the event loop is waited for, no longer. */
const ifArrived = <Value>(promise: Promise<Value>): Promise<Value | undefined> =>
  Promise.race([promise, new Promise<undefined>((resolve) => void setImmediate(resolve, undefined))])
