import { SUPERVISOR_LIMITS } from './limits.ts'

/** Milliseconds to wait before the nth start in a row, from 1: doubling, bounded. */
export function backoffMs(attempt: number): number {
  const { restartBackoffMsMin, restartBackoffMsMax } = SUPERVISOR_LIMITS
  return Math.min(restartBackoffMsMin * 2 ** (attempt - 1), restartBackoffMsMax)
}
