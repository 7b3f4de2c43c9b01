import { defineConfig } from 'vitest/config'
import { SUITES } from './infra/rules/suites.ts'

const SLOW = process.env['TORPOR_SLOW_TESTS'] === '1'

// oxlint-disable-next-line import/no-default-export -- vitest reads its configuration from the default export
export default defineConfig({
  test: {
    include: [SUITES.all],
    exclude: ['**/node_modules/**', '.torpor/**', ...(SLOW ? [] : [SUITES.slow])],
    testTimeout: 60_000,
    hookTimeout: 120_000,
    fileParallelism: false,
  },
})
