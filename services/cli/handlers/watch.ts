import type { CloudEvent } from '@torpor/contracts'
import { Command } from 'commander'
import { examples } from '../output/examples.ts'
import type { Context, OutputFormat } from '../context.ts'
import { eventLine } from '../domain/event-line.ts'
import { entityOf } from '../domain/target.ts'
import { documentText } from '../output/document.ts'
import { untilInterrupted } from '../until-interrupted.ts'

type Options = { atespace?: string; allAtespaces: boolean }

/** `torpor watch [NAME]`. */
export function watchCommand(context: Context): Command {
  return new Command('watch')
    .description('events as they come, one line each, until Ctrl-C')
    .argument('[name]', 'one actor: NAME or ATESPACE/NAME')
    .option('-a, --atespace <atespace>', 'events of one atespace; default: of all')
    .option('-A, --all-atespaces', 'events of all atespaces, whatever TORPOR_ATESPACE says', false)
    .addHelpText(
      'after',
      examples(['torpor watch', 'torpor watch my-counter-1 -a demo', 'torpor watch -o json']),
    )
    .action(async (name: string | undefined, options: Options, command: Command) => {
      const { world } = context
      const client = await context.client(command)
      const { output } = context.options(command)
      const space = options.atespace ?? world.environment['TORPOR_ATESPACE']
      const ref = name === undefined ? undefined : entityOf('actor', name, space, world)
      const filter =
        ref !== undefined
          ? { atespace: ref.atespace, actor: ref.name }
          : options.allAtespaces || !space
            ? {}
            : { atespace: space }
      await untilInterrupted(world, async () => {
        for await (const event of client.events({ ...filter, from: 'now', signal: world.signal })) {
          world.write(eventText(event, output))
        }
      })
    })
}

/** One event: a line for people, one line of JSON, or a YAML document. */
export function eventText(event: CloudEvent, output: OutputFormat): string {
  if (output === 'table') return `${eventLine(event)}\n`
  return output === 'json' ? `${JSON.stringify(event)}\n` : `---\n${documentText('yaml', event)}`
}
