import { sleep } from '@torpor/contracts'
import { Command } from 'commander'
import { examples } from '../output/examples.ts'
import { untilInterrupted } from '../until-interrupted.ts'
import type { Context } from '../context.ts'
import { newLines } from '../domain/new-lines.ts'
import { parseCount } from '../domain/parse-count.ts'
import { entityOf } from '../domain/target.ts'

/** How often `-f` asks, and how many lines it asks for: what is written faster than this is not all shown. */
const FOLLOW_INTERVAL_MS = 500
const FOLLOW_LINES = 1_000
const LINES_MAX = 10_000

type Options = { atespace?: string; follow: boolean; lines: number }

/** `torpor logs actor NAME`. */
export function logsCommand(context: Context): Command {
  const actor = new Command('actor')
    .description('the last lines that an actor wrote, from the node that runs it or ran it last')
    .argument('<name>', 'NAME or ATESPACE/NAME')
    .option('-a, --atespace <atespace>', 'atespace; default: TORPOR_ATESPACE')
    .option('-f, --follow', 'go on with what it writes, until Ctrl-C', false)
    .option('-n, --lines <count>', 'lines at most', parseCount(1, LINES_MAX), 200)
    .addHelpText(
      'after',
      examples(['torpor logs actor my-counter-1 -a demo -n 50', 'torpor logs actor demo/my-counter-1 -f']),
    )
    .action(async (name: string, options: Options, command: Command) => {
      const ref = entityOf('actor', name, options.atespace, context.world)
      const client = await context.client(command)
      const { signal } = context.world
      const ask = (lines: number) => client.actor(ref.atespace, ref.name).logs({ lines, signal })
      const first = await ask(options.follow ? Math.max(FOLLOW_LINES, options.lines) : options.lines)
      print(context, first.slice(-options.lines))
      if (!options.follow) return
      await untilInterrupted(context.world, () => follow(context, first, () => ask(FOLLOW_LINES)))
    })
  return new Command('logs').description('what an actor wrote').addCommand(actor)
}

async function follow(
  context: Context,
  first: readonly string[],
  ask: () => Promise<readonly string[]>,
): Promise<void> {
  const { clock, signal } = context.world
  let seen = first
  while (!signal.aborted) {
    await sleep(clock, FOLLOW_INTERVAL_MS)
    if (signal.aborted) return
    const lines = await ask()
    print(context, newLines(seen, lines))
    seen = lines
  }
}

const print = (context: Context, lines: readonly string[]): void => {
  if (lines.length > 0) context.world.write(`${lines.join('\n')}\n`)
}
