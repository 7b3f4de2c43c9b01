import { defineConfig } from 'vitest/config'

/** Slow suites have names of their own, `*.slow.test.ts`, and are run by `npm run test:kills` and the like. */
const SLOW = process.env['TORPOR_SLOW_TESTS'] === '1'

// oxlint-disable-next-line import/no-default-export -- vitest reads its configuration from the default export
export default defineConfig({
  test: {
    include: ['{contracts,state-machines,services,infra,simulations}/**/*.test.ts'],
    exclude: ['**/node_modules/**', '.torpor/**', ...(SLOW ? [] : ['**/*.slow.test.ts'])],
    testTimeout: 60_000,
    hookTimeout: 120_000,
    fileParallelism: false,
  },
})
