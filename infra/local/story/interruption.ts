import type { Clock } from '@torpor/contracts'

/** Ctrl-C, a closed terminal or a polite kill, as the story sees it. */
export type Interruption = {
  /** Aborted by the first: the story stops, and what runs is suspended. */
  readonly first: AbortSignal
  /** Aborted by the second: nothing is waited for any more but the end of the processes. */
  readonly second: AbortSignal
}

const SIGNALS = ['SIGINT', 'SIGTERM', 'SIGHUP'] as const
/** A terminal and the program that started us may both pass the same Ctrl-C on. */
const SAME_MS_MAX = 300

/**
 * From here on signals no longer end this process: its children would be left behind. `onFirst` and `onSecond` tell.
 * @param nowMs monotonic
 */
export function listenForInterruption(
  nowMs: () => number,
  onFirst: () => void,
  onSecond: () => void,
): Interruption {
  const first = new AbortController()
  const second = new AbortController()
  let firstMs = 0
  const hear = (): void => {
    if (!first.signal.aborted) {
      firstMs = nowMs()
      onFirst()
      first.abort(new Error('interrupted'))
    } else if (!second.signal.aborted && nowMs() - firstMs > SAME_MS_MAX) {
      onSecond()
      second.abort(new Error('interrupted twice'))
    }
  }
  for (const signal of SIGNALS) process.on(signal, hear)
  // a terminal that is gone takes no more lines, which is no reason to leave everything behind
  for (const stream of [process.stdout, process.stderr]) stream.on('error', () => undefined)
  return { first: first.signal, second: second.signal }
}

/** Resolves when the signal is aborted. */
export const aborted = (signal: AbortSignal): Promise<void> =>
  new Promise((resolve) => {
    if (signal.aborted) resolve()
    else signal.addEventListener('abort', () => resolve(), { once: true })
  })

/** Resolves when the work has ended, however it did, or after `timeoutMs`, or when the signal is aborted. */
export async function settled(
  work: Promise<unknown>,
  clock: Clock,
  timeoutMs: number,
  signal: AbortSignal,
): Promise<void> {
  const { promise: late, resolve } = Promise.withResolvers<void>()
  const cancel = clock.after(timeoutMs, resolve)
  await Promise.race([work.catch(() => undefined), late, aborted(signal)])
  cancel()
}
