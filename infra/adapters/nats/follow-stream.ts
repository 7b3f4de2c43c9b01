import { LIMITS } from '@torpor/contracts'
import type { DeliveredMessage } from './delivered-message.ts'
import type { BusLink } from './link.ts'
import type { ReadStart } from './stream-reader.ts'
import { StreamReader } from './stream-reader.ts'

export type FollowOptions = {
  readonly stream: string
  readonly filter?: string
  /** Where to begin, and to begin again after each interruption; may ask the stream. */
  readonly start: (last: DeliveredMessage | undefined) => ReadStart | Promise<ReadStart>
  /** Each time reading begins: how many messages wait just now. */
  readonly opened?: (waiting: number) => void
}

/**
 * Messages of a stream in order, without end, until the signal: reads on after every interruption, a restart of the
 * server too. Waits between attempts, longer each time they fail (`streamRetryMsMin` to `streamRetryMsMax`).
 */
export async function* followStream(
  link: BusLink,
  options: FollowOptions,
  signal: AbortSignal,
): AsyncGenerator<DeliveredMessage> {
  let last: DeliveredMessage | undefined
  let failures = 0
  while (!signal.aborted && !link.closed) {
    await link.whenConnected(signal)
    const reader = await openReader(link, options, last)
    if (reader !== undefined) {
      const close = () => reader.close()
      signal.addEventListener('abort', close, { once: true })
      if (signal.aborted) close()
      options.opened?.(reader.waiting)
      try {
        for (let next = await reader.next(); next !== undefined; next = await reader.next()) {
          if (signal.aborted) return
          failures = 0
          last = next
          yield next
        }
      } finally {
        signal.removeEventListener('abort', close)
        reader.close()
      }
    }
    await pause(retryMs(failures), signal)
    failures += 1
  }
}

async function openReader(link: BusLink, options: FollowOptions, last: DeliveredMessage | undefined) {
  try {
    const start = await options.start(last)
    const { stream, filter } = options
    return await StreamReader.open(link, { stream, start, ...(filter === undefined ? {} : { filter }) })
  } catch (cause) {
    if (link.connected) link.notice('refused', cause instanceof Error ? cause.message : String(cause))
    return undefined
  }
}

const retryMs = (failures: number): number =>
  Math.min(LIMITS.streamRetryMsMin * 2 ** Math.min(failures, 16), LIMITS.streamRetryMsMax)

function pause(delayMs: number, signal: AbortSignal): Promise<void> {
  if (signal.aborted) return Promise.resolve()
  const { promise, resolve } = Promise.withResolvers<void>()
  const timer = setTimeout(resolve, delayMs)
  signal.addEventListener('abort', () => resolve(), { once: true })
  return promise.finally(() => clearTimeout(timer))
}
