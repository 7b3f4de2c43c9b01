import type { Clock } from '@torpor/contracts'
import { LIMITS, sleep } from '@torpor/contracts'

export type Note = (
  level: 'info' | 'warn',
  message: string,
  fields?: Readonly<Record<string, unknown>>,
) => void

/**
 * Works until the work is done or the signal comes. A database or log that is away is waited for without end: the log loses
 * nothing meanwhile. Between tries `projectorBackoffMsMin`, doubled up to `projectorBackoffMsMax`; `work` calls `wentWell` to
 * begin anew with the shortest.
 */
export async function retryForever(
  what: string,
  { clock, note }: { readonly clock: Clock; readonly note: Note },
  signal: AbortSignal,
  work: (wentWell: () => void) => Promise<'done' | 'again'>,
): Promise<void> {
  let waitMs: number = LIMITS.projectorBackoffMsMin
  const wentWell = () => (waitMs = LIMITS.projectorBackoffMsMin)
  const aborted = new Promise<void>((resolve) =>
    signal.addEventListener('abort', () => resolve(), { once: true }),
  )
  while (!signal.aborted) {
    try {
      if ((await work(wentWell)) === 'done') return
    } catch (cause) {
      note('warn', `${what} failed; tried again in ${waitMs} ms`, { cause: String(cause) })
    }
    if (signal.aborted) return
    await Promise.race([sleep(clock, waitMs), aborted])
    waitMs = Math.min(2 * waitMs, LIMITS.projectorBackoffMsMax)
  }
}
