import { setTimeout as pause } from 'node:timers/promises'

/**
 * Asks again until it is so, or until the limit.
 * @returns whether it became so in time
 */
export async function waitUntil(
  isSo: () => boolean | Promise<boolean>,
  limitMs: number,
  intervalMs = 20,
): Promise<boolean> {
  const deadline = performance.now() + limitMs
  while (!(await isSo())) {
    if (performance.now() >= deadline) return false
    await pause(intervalMs)
  }
  return true
}
