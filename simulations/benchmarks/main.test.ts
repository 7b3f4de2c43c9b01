import { spawnSync } from 'node:child_process'
import { join } from 'node:path'
import { expect, test } from 'vitest'

const bench = (...words: readonly string[]) =>
  spawnSync(process.execPath, [join(import.meta.dirname, 'main.ts'), ...words], { encoding: 'utf8' })

test('--list names each bench in a line', () => {
  const { status, stdout, stderr } = bench('--list')
  expect(stderr).toBe('')
  expect(stdout.split('\n').map((line) => line.split(' ')[0])).toEqual(
    expect.arrayContaining(['resume', 'suspend']),
  )
  expect(status).toBe(0)
})

test('a name that is no bench is one line and exit code 2', () => {
  const { status, stdout, stderr } = bench('resum', '--short')
  expect(stdout).toBe('')
  expect(stderr).toMatch(/^error: resum is no bench: use one of resume, suspend, .*\n$/)
  expect(status).toBe(2)
})
