import { spawnSync } from 'node:child_process'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { BUGS } from './planted-bugs/bugs.ts'
import { runEngine } from './scenarios/engine.ts'

const simulate = (...words: readonly string[]) =>
  spawnSync(process.execPath, [join(import.meta.dirname, 'main.ts'), ...words], { encoding: 'utf8' })

test('the same seed draws the same world', async () => {
  const [one, same, other] = [await runEngine(42), await runEngine(42), await runEngine(43)]
  expect(one.frames.flat().length).toBeGreaterThan(0)
  expect(same).toEqual(one)
  expect(other.frames).not.toEqual(one.frames)
})

test('every law holds in 200 worlds', { timeout: 60_000 }, () => {
  const { stdout, stderr, status } = simulate()
  expect(stderr).toBe('')
  expect(stdout).toMatch(/^200 seeds from 1, \d{4,} questions: every law holds\n$/)
  expect(status).toBe(0)
})

describe('a planted bug is found within 200 seeds', () => {
  test.each(BUGS.map(({ name }) => name))('%s', { timeout: 60_000 }, (bug) => {
    const { stdout, stderr, status } = simulate('--bug', bug)
    expect(stderr).toBe('')
    const [, seed = ''] = /again: npm run simulate -- --seed (\d+) --bug/.exec(stdout) ?? []
    expect(status).toBe(1)
    const again = simulate('--seed', seed, '--bug', bug)
    expect(again.stdout).toContain(stdout.split('\n')[0])
    expect(simulate('--seed', seed).status).toBe(0)
  })
})

test.each([
  [['--bug', 'none'], /^error: none is no bug: use one of no-barrier, /],
  [['--seed', 'x'], /^error: --seed x is no whole number above 0\n$/],
  [['--sed', '1'], /^error: Unknown option '--sed'/],
])('%j is one line and exit code 2', (words, line) => {
  const { stderr, status } = simulate(...words)
  expect(stderr).toMatch(line)
  expect(stderr.trim().split('\n')).toHaveLength(1)
  expect(status).toBe(2)
})
