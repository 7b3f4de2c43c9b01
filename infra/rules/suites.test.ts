import { readFileSync } from 'node:fs'
import { join, matchesGlob } from 'node:path'
import { describe, expect, test } from 'vitest'
import config from '../../vitest.config.ts'
import { ROOT, listFiles } from './source-files.ts'
import { SUITES } from './suites.ts'

const { scripts } = JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8')) as {
  scripts: Readonly<Record<string, string>>
}
const suites = listFiles().filter((path) => /\.(test|spec)\.[cm]?[jt]sx?$/.test(path))
const isSlow = (path: string): boolean => matchesGlob(path, SUITES.slow)

const matchesAny = (path: string, globs: readonly string[] = []): boolean =>
  globs.some((glob) => matchesGlob(path, glob))
const isCollected = (path: string): boolean =>
  matchesAny(path, config.test?.include) &&
  !matchesAny(
    path,
    config.test?.exclude?.filter((glob) => glob !== SUITES.slow),
  )

describe('every test is run by somebody', () => {
  test('the rules see the suites that they are about', () => {
    expect(suites.filter(isCollected).length).toBeGreaterThan(50)
    for (const kind of [SUITES.system, SUITES.slow]) {
      expect(suites.filter((path) => matchesGlob(path, kind)).length, kind).toBeGreaterThan(0)
    }
    expect(isCollected('services/router/router.spec.ts')).toBe(false)
  })

  test('what is named as a test is one that vitest collects', () => {
    expect(suites.filter((path) => !isCollected(path))).toEqual([])
  })

  test('each slow suite has a script that runs it', () => {
    const run = Object.values(scripts).filter((script) => script.startsWith('TORPOR_SLOW_TESTS=1 '))
    const left = suites
      .filter(isSlow)
      .filter((path) => !run.some((script) => script.split(' ').includes(path)))
    expect(left).toEqual([])
  })

  test('npm test leaves out nothing else, and is what CI runs', () => {
    expect(scripts['test']).toBe('node infra/local/entry.mjs test')
    expect(readFileSync(join(ROOT, 'infra/local/entry.mjs'), 'utf8')).toContain("[VITEST, 'run', ...args]")
    expect(readFileSync(join(ROOT, '.ci/run'), 'utf8').split('\n')).toContain('npm test')
  })
})
