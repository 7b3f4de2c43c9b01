import { expect, test } from 'vitest'
import { backoffMs } from './backoff.ts'
import { SUPERVISOR_LIMITS } from './limits.ts'

test('each start in a row waits twice as long as the one before, up to the limit', () => {
  expect([1, 2, 3, 4].map(backoffMs)).toEqual([100, 200, 400, 800])
  expect(backoffMs(SUPERVISOR_LIMITS.restartsInARowMax)).toBe(SUPERVISOR_LIMITS.restartBackoffMsMax)
})
