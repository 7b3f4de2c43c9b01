import { Command } from 'commander'
import { examples } from '../output/examples.ts'
import type { Context } from '../context.ts'
import { entityOf } from '../domain/target.ts'
import { eventText } from './watch.ts'

/** `torpor history actor NAME`. */
export function historyCommand(context: Context): Command {
  const actor = new Command('actor')
    .description('what happened to an actor, as far back as the event stream goes')
    .argument('<name>', 'NAME or ATESPACE/NAME')
    .option('-a, --atespace <atespace>', 'atespace; default: TORPOR_ATESPACE')
    .addHelpText(
      'after',
      examples([
        'torpor history actor my-counter-1 -a demo',
        'torpor history actor demo/my-counter-1 -o json',
      ]),
    )
    .action(async (name: string, options: { atespace?: string }, command: Command) => {
      const { world } = context
      const ref = entityOf('actor', name, options.atespace, world)
      const client = await context.client(command)
      const { output } = context.options(command)
      const filter = { atespace: ref.atespace, actor: ref.name }
      let events = 0
      for await (const event of client.events({
        ...filter,
        from: 'start',
        untilCaughtUp: true,
        signal: world.signal,
      })) {
        events += 1
        world.write(eventText(event, output))
      }
      if (events === 0 && output === 'table') {
        world.write(
          `no event of ${ref.atespace}/${ref.name} is in the stream any more, or there never was one\n`,
        )
      }
    })
  return new Command('history').description('what happened to an actor').addCommand(actor)
}
