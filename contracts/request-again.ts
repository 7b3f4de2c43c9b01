import type { Bus } from './ports/bus.ts'
import type { Clock } from './ports/clock.ts'

export type RequestAgain = {
  /** For all of it together. */
  readonly timeoutMs: number
  /** After this long without an answer the same bytes are sent once more; what was sent before may still be answered. */
  readonly againMs: number
  readonly headers?: Readonly<Record<string, string>>
  /** Whether an answer decides. One that does not is passed on only when nothing else is awaited. */
  readonly isFinal: (answer: Uint8Array) => boolean
}

/**
 * One request that outlives whoever takes it: an owner that ends with a request in its hands answers nothing, and nobody says
 * so. Only for messages that may be applied once however often they arrive. Faults: those of the bus, when nothing is awaited
 * any more.
 * @example await requestAgain(bus, clock, subject, bytes, { timeoutMs: 30_000, againMs: 3_000, isFinal: () => true })
 */
export function requestAgain(
  bus: Bus,
  clock: Clock,
  subject: string,
  data: Uint8Array,
  { timeoutMs, againMs, headers, isFinal }: RequestAgain,
): Promise<Uint8Array> {
  const { promise, resolve, reject } = Promise.withResolvers<Uint8Array>()
  const beganMs = clock.monotonicMs()
  let awaited = 0
  let settled = false
  let cancel: () => void = () => undefined
  const settle = (say: () => void): void => {
    settled = true
    cancel()
    say()
  }
  const send = (): void => {
    const leftMs = timeoutMs - (clock.monotonicMs() - beganMs)
    if (settled || leftMs <= 0) return
    awaited += 1
    bus.request(subject, data, { timeoutMs: leftMs, ...(headers === undefined ? {} : { headers }) }).then(
      (answer) => {
        awaited -= 1
        if (isFinal(answer) || awaited === 0) settle(() => resolve(answer))
      },
      (cause: unknown) => {
        awaited -= 1
        if (awaited === 0) settle(() => reject(cause as Error))
      },
    )
    cancel = clock.after(againMs, send)
  }
  send()
  return promise
}
