import type { Clock } from './ports/clock.ts'

export type RequestAgain = {
  /** For all of it together. */
  readonly timeoutMs: number
  /** After this long without an answer the same bytes are sent once more; what was sent before may still be answered. */
  readonly againMs: number
  /** Whether an answer decides. One that does not is passed on only when nothing else is awaited. */
  readonly isFinal: (answer: Uint8Array) => boolean
}

/**
 * One request that outlives whoever takes it: an owner that ends with a request in its hands answers nothing, and nobody says
 * so. Only for messages that may be applied once however often they arrive. Faults: those of the bus, when nothing is awaited
 * any more.
 * @param send sends the same bytes each time it is called, and rejects as the bus does
 * @example await requestAgain(clock, (timeoutMs) => bus.request(subject, bytes, { timeoutMs }), { timeoutMs: 30_000, againMs: 2_000, isFinal })
 */
export function requestAgain(
  clock: Clock,
  send: (timeoutMs: number) => Promise<Uint8Array>,
  { timeoutMs, againMs, isFinal }: RequestAgain,
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
  const sendOnce = async (): Promise<void> => {
    const leftMs = timeoutMs - (clock.monotonicMs() - beganMs)
    if (settled || leftMs <= 0) return
    awaited += 1
    const sent = send(leftMs)
    cancel = clock.after(againMs, () => void sendOnce())
    try {
      const answer = await sent
      if (isFinal(answer) || awaited === 1) settle(() => resolve(answer))
    } catch (cause) {
      if (awaited === 1) settle(() => reject(cause as Error))
    } finally {
      awaited -= 1
    }
  }
  void sendOnce()
  return promise
}
