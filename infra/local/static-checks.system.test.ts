import { spawnSync } from 'node:child_process'
import { expect, test } from 'vitest'
import { STATIC_CHECKS } from './static-checks.ts'
import { REPOSITORY } from './supervisor/tool-paths.ts'

/** `npm run check` runs them as steps of its own; so does whoever runs the tests only. */
test.each(STATIC_CHECKS)('%s: nothing is wrong', (_name, command, ...args) => {
  const { status, stdout, stderr } = spawnSync(command, args, { cwd: REPOSITORY, encoding: 'utf8' })
  expect(status, stdout + stderr).toBe(0)
})
