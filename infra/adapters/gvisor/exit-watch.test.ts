import { expect, test } from 'vitest'
import { exitCodeOf } from './control-socket.ts'
import { exitOf } from './exit-watch.ts'

test.each([
  [0x0700, 7],
  [0x0000, 0],
  [0x0009, 137],
  [0x008b, 139],
])('a wait status of %d is exit code %d', (waitStatus, exitCode) => {
  expect(exitCodeOf(waitStatus)).toBe(exitCode)
})

test.each([
  ['an end that the process told', 7, 0, 'exited'],
  ['an end with code 0', 0, 0, 'exited'],
  ['an end with code 0 after a child was killed for memory', 0, 1, 'exited'],
  ['an end after the kernel killed for memory', 137, 1, 'memory'],
  ['a sandbox that vanished after the kernel killed for memory', undefined, 1, 'memory'],
  ['a process that was killed', 137, 0, 'killed'],
  ['a sandbox that vanished', undefined, 0, 'killed'],
] as const)('%s has its reason', (_, exitCode, memoryKills, reason) => {
  expect(exitOf(exitCode, memoryKills)).toMatchObject({ reason })
})
