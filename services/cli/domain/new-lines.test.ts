import { expect, test } from 'vitest'
import { newLines } from './new-lines.ts'

test.each([
  ['nothing new', ['a', 'b'], ['a', 'b'], []],
  ['lines after the old end', ['a', 'b'], ['a', 'b', 'c', 'd'], ['c', 'd']],
  ['a window that moved on', ['a', 'b', 'c'], ['b', 'c', 'd'], ['d']],
  ['a smaller window before', ['c'], ['a', 'b', 'c', 'd'], ['d']],
  ['the same line again', ['a', 'a'], ['a', 'a', 'a'], ['a']],
  ['everything, when the window has left the old end', ['a'], ['x', 'y'], ['x', 'y']],
  ['everything, when nothing was there', [], ['x'], ['x']],
])('finds %s', (_, previous, current, expected) => {
  expect(newLines(previous, current)).toEqual(expected)
})
