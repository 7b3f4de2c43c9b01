import type { Clock } from '@torpor/contracts'
import { fault, sleep } from '@torpor/contracts'

const LOOK_AGAIN_MS = 50

/** Looks until `look` gives a value; a fault that names what did not come to be after `timeoutMs`. Looks that fail are repeated. */
export async function awaitCondition<Value>(
  clock: Clock,
  what: string,
  timeoutMs: number,
  look: () => Promise<Value | undefined>,
  signal?: AbortSignal,
): Promise<Value> {
  const beganMs = clock.monotonicMs()
  let last: unknown
  while (clock.monotonicMs() - beganMs < timeoutMs) {
    signal?.throwIfAborted()
    const value = await look().catch((cause: unknown) => {
      last = cause
      return undefined
    })
    if (value !== undefined) return value
    await sleep(clock, LOOK_AGAIN_MS)
  }
  throw fault('WAKE_TIMEOUT', what, { cause: last, ...(last === undefined ? {} : { detail: String(last) }) })
}
