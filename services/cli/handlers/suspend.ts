import type { Actor, DrainMode, SuspendMode } from '@torpor/contracts'
import { Command, Option } from 'commander'
import { examples } from '../output/examples.ts'
import type { Context } from '../context.ts'
import { entityOf } from '../domain/target.ts'
import { report } from '../output/result.ts'

type Options = { atespace?: string; mode?: SuspendMode; drain?: DrainMode; drainTimeout?: string }

/** `torpor suspend actor NAME`. */
export function suspendCommand(context: Context): Command {
  const actor = new Command('actor')
    .description('checkpoint an actor and free what it books')
    .argument('<name>', 'NAME or ATESPACE/NAME')
    .option('-a, --atespace <atespace>', 'atespace; default: TORPOR_ATESPACE')
    .addOption(
      new Option(
        '--mode <mode>',
        'async: done when the snapshot lies on the node (default); sync: when it is in the object store',
      ).choices(['async', 'sync']),
    )
    .addOption(
      new Option(
        '--drain <drain>',
        'open requests: drain waits for them (default), refuse gives up, force cuts them',
      ).choices(['drain', 'refuse', 'force']),
    )
    .option('--drain-timeout <duration>', 'how long to wait for open requests, like 30s')
    .addHelpText(
      'after',
      examples([
        'torpor suspend actor my-counter-1 -a demo',
        'torpor suspend actor demo/my-counter-1 --mode sync --drain force',
      ]),
    )
    .action(async (name: string, options: Options, command: Command) => {
      const ref = entityOf('actor', name, options.atespace, context.world)
      const { mode, drain, drainTimeout } = options
      const client = await context.client(command)
      const { signal } = context.world
      const act = () => client.actor(ref.atespace, ref.name).suspend({ mode, drain, drainTimeout, signal })
      await report(context, command, act, (after) => ({
        done: `actor ${ref.atespace}/${ref.name} suspended`,
        more: newestSnapshot(after),
      }))
    })
  return new Command('suspend').description('put an actor to sleep').addCommand(actor)
}

/** `gen 3, PENDING`; empty when it has no snapshot. */
export function newestSnapshot({ snapshots }: Actor): string {
  const newest = snapshots.toSorted((a, b) => b.generation - a.generation)[0]
  if (newest === undefined) return ''
  return `gen ${newest.generation}, ${newest.storageState.replace('SNAPSHOT_STORAGE_STATE_', '')}`
}
