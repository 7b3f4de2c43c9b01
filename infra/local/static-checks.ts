/** What is looked at without running anything of ours; a name, and the command line that fails where something is wrong. */
export const STATIC_CHECKS: readonly (readonly [name: string, command: string, ...args: string[]])[] = [
  ['format', 'node_modules/.bin/oxfmt', '--check', '.'],
  ['lint', 'node_modules/.bin/oxlint', '.'],
  ['types', 'node_modules/.bin/tsc', '-p', 'tsconfig.json'],
  ['unused', 'node_modules/.bin/knip', '--no-progress', '--treat-config-hints-as-errors'],
]
