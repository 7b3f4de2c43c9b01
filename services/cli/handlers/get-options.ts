import type { Context } from '../context.ts'

export type GetOptions = {
  readonly atespace?: string
  readonly allAtespaces: boolean
  readonly watch: boolean
}

/** Empty for all. */
export const atespaceFilter = (context: Context, options: GetOptions): string =>
  options.allAtespaces ? '' : (options.atespace ?? context.world.environment['TORPOR_ATESPACE'] ?? '')
