import { Command } from 'commander'
import { examples } from '../output/examples.ts'
import type { Context } from '../context.ts'
import { entityOf } from '../domain/target.ts'
import { report } from '../output/result.ts'
import { newestSnapshot } from './suspend.ts'

/** `torpor revert actor NAME`. */
export function revertCommand(context: Context): Command {
  const actor = new Command('actor')
    .description('give up what an actor did since its newest COMPLETED snapshot; heals a crashed one')
    .argument('<name>', 'NAME or ATESPACE/NAME')
    .option('-a, --atespace <atespace>', 'atespace; default: TORPOR_ATESPACE')
    .option('--then-resume', 'wake it afterwards', false)
    .addHelpText('after', examples(['torpor revert actor my-counter-1 -a demo --then-resume']))
    .action(async (name: string, options: { atespace?: string; thenResume: boolean }, command: Command) => {
      const ref = entityOf('actor', name, options.atespace, context.world)
      const client = await context.client(command)
      const { signal } = context.world
      const act = () =>
        client.actor(ref.atespace, ref.name).revert({ thenResume: options.thenResume, signal })
      await report(context, command, act, (after) => ({
        done: `actor ${ref.atespace}/${ref.name} reverted`,
        more: newestSnapshot(after),
      }))
    })
  return new Command('revert').description('take an actor back to its last kept snapshot').addCommand(actor)
}
