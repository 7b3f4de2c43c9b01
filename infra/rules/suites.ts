/**
 * Which tests run when. `npm run check` runs all but these two kinds, `npm test` leaves out the slow ones only, and each slow
 * one has a script of its own in package.json. infra/rules/suites.test.ts holds that no test is left to nobody.
 */
export const SUITES = {
  all: '{contracts,state-machines,services,infra,simulations}/**/*.test.ts',
  /** They start whole systems, some once for each case: minutes, not seconds. */
  system: '**/*.system.test.ts',
  /** They run only where `TORPOR_SLOW_TESTS=1`. */
  slow: '**/*.slow.test.ts',
} as const
