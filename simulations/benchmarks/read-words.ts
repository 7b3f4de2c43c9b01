import { parseArgs } from 'node:util'

export type BenchWords = {
  /** Empty where none is given. */
  readonly name: string
  /** Tell the names and end. */
  readonly list: boolean
  /** Fewer rounds and sizes. */
  readonly short: boolean
}

/** Reads the words of the command line; a word too many or one that is no option is an error in one line. */
export function readWords(words: readonly string[]): BenchWords | { readonly error: string } {
  try {
    const flag = { type: 'boolean', default: false } as const
    const { values, positionals } = parseArgs({
      args: [...words],
      options: { list: flag, short: flag },
      allowPositionals: true,
    })
    const [name = '', ...more] = positionals
    return more.length === 0
      ? { name, ...values }
      : { error: `one bench at a time: ${positionals.join(', ')}` }
  } catch (cause) {
    return { error: cause instanceof Error ? cause.message : String(cause) }
  }
}
