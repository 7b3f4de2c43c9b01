/** `npm run check`: all that a change needs. Every step runs, so that one run shows everything that is wrong. */
import { spawnSync } from 'node:child_process'
import { SUITES } from '../rules/suites.ts'
import { STATIC_CHECKS } from './static-checks.ts'
import { REPOSITORY } from './supervisor/tool-paths.ts'

/** No test asserts a time, and most of them wait more than they compute. */
const TEST_FILES_AT_ONCE = 2

const STEPS: readonly (readonly [name: string, ...command: string[]])[] = [
  ...STATIC_CHECKS,
  [
    'rules and tests',
    'node_modules/.bin/vitest',
    'run',
    '--exclude',
    SUITES.system,
    '--fileParallelism',
    `--maxWorkers=${TEST_FILES_AT_ONCE}`,
    ...process.argv.slice(2),
  ],
]
const LEFT_OUT =
  'left out: suites of whole systems (*.system.test.ts), run by "npm test", alone by "npm test -- .system.test"; *.slow.test.ts, run by "npm run test:kills"'

const failed: string[] = []
for (const [name, command = '', ...args] of STEPS) {
  const beganAt = performance.now()
  const { status } = spawnSync(command, args, { cwd: REPOSITORY, stdio: 'inherit' })
  const seconds = ((performance.now() - beganAt) / 1000).toFixed(1)
  console.log(`check: ${name}: ${status === 0 ? 'ok' : 'FAILED'} (${seconds} s)`)
  if (status !== 0) failed.push(name)
}
console.log(`check: ${LEFT_OUT}`)
console.log(failed.length === 0 ? 'check: ok' : `check: failed: ${failed.join(', ')}`)
process.exitCode = failed.length === 0 ? 0 : 1
