import { expect, test } from 'vitest'
import { readWords } from './read-words.ts'

test('a name, a short one, and the list', () => {
  expect(readWords(['resume'])).toEqual({ name: 'resume', list: false, short: false })
  expect(readWords(['--short', 'suspend'])).toEqual({ name: 'suspend', list: false, short: true })
  expect(readWords(['--list'])).toEqual({ name: '', list: true, short: false })
  expect(readWords([])).toEqual({ name: '', list: false, short: false })
})

test.each([
  [['resume', 'suspend'], /^one bench at a time: resume, suspend$/],
  [['--lst'], /^Unknown option '--lst'.*$/],
  [['resume', '--short=very'], /^Option '--short' does not take an argument$/],
])('%s is an error in one line', (words, line) => {
  expect(readWords(words)).toEqual({ error: expect.stringMatching(line) })
})
