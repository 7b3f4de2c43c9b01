import { parseArgs } from 'node:util'

export type StoryOptions = {
  /** End when the story is told. */
  readonly once: boolean
  /** Forget the actors and data of earlier runs first. */
  readonly fresh: boolean
  /** Remove the data and end. */
  readonly remove: boolean
  /** Tell it with the simulated sandbox. */
  readonly simulated: boolean
  /** Folder that keeps everything of the demo; empty for the one in the checkout. */
  readonly data: string
  readonly help: boolean
}

export const USAGE = `usage: npm run demo [-- OPTIONS]

Starts a whole Torpor on this machine, tells the story of one actor that sleeps and wakes, and stays up.

  --once        end when the story is told
  --fresh       forget the actors and the data of earlier runs first
  --remove      remove the data of earlier runs, and end
  --simulated   use the simulated sandbox (no Linux, root or gVisor needed); the output says so
  --data DIR    keep everything in DIR instead of .torpor/data
  --help        this text
`

/** Reads the options; a word that is no option is an error in one line. */
export function readOptions(words: readonly string[]): StoryOptions | { readonly error: string } {
  const flag = { type: 'boolean', default: false } as const
  try {
    const { values } = parseArgs({
      args: [...words],
      options: {
        once: flag,
        fresh: flag,
        remove: flag,
        simulated: flag,
        data: { type: 'string', default: '' },
        help: { ...flag, short: 'h' },
      },
    })
    return values
  } catch (cause) {
    return { error: cause instanceof Error ? cause.message : String(cause) }
  }
}
