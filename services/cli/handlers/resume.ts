import { Command } from 'commander'
import { examples } from '../output/examples.ts'
import type { Context } from '../context.ts'
import { entityOf } from '../domain/target.ts'
import { report } from '../output/result.ts'

/** `torpor resume actor NAME`. */
export function resumeCommand(context: Context): Command {
  const actor = new Command('actor')
    .description('wake an actor; one that runs already is left as it is')
    .argument('<name>', 'NAME or ATESPACE/NAME')
    .option('-a, --atespace <atespace>', 'atespace; default: TORPOR_ATESPACE')
    .addHelpText('after', examples(['torpor resume actor my-counter-1 -a demo']))
    .action(async (name: string, options: { atespace?: string }, command: Command) => {
      const ref = entityOf('actor', name, options.atespace, context.world)
      const client = await context.client(command)
      const act = () => client.actor(ref.atespace, ref.name).resume({ signal: context.world.signal })
      await report(context, command, act, ({ worker }) => ({
        done: `actor ${ref.atespace}/${ref.name} resumed`,
        ...(worker === undefined ? {} : { more: `worker ${worker.worker} on ${worker.node}` }),
      }))
    })
  return new Command('resume').description('wake an actor').addCommand(actor)
}
