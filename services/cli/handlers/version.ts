import { Command } from 'commander'
import { examples } from '../output/examples.ts'
import type { Context } from '../context.ts'
import { documentText } from '../output/document.ts'
import { CLIENT_VERSION } from '../version.ts'

/** `torpor version`. */
export function versionCommand(context: Context): Command {
  return new Command('version')
    .description('versions of client and server')
    .option('--client', 'of this client only; asks nobody', false)
    .addHelpText('after', examples(['torpor version', 'torpor version --client']))
    .action(async (options: { client: boolean }, command: Command) => {
      const server = options.client
        ? undefined
        : await (await context.client(command)).system({ signal: context.world.signal })
      const { output } = context.options(command)
      if (output !== 'table') {
        return context.world.write(
          documentText(output, { client: CLIENT_VERSION, ...(server && { server }) }),
        )
      }
      context.world.write(`client  ${CLIENT_VERSION}\n`)
      if (server !== undefined) context.world.write(`server  ${server.version}\nshards  ${server.shards}\n`)
    })
}
