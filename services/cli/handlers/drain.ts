import { Command } from 'commander'
import { examples } from '../output/examples.ts'
import type { Context } from '../context.ts'
import { report } from '../output/result.ts'

/** `torpor drain node NAME`. */
export function drainCommand(context: Context): Command {
  const node = new Command('node')
    .description('let a node take nothing new, and suspend what runs there')
    .argument('<name>', 'its name')
    .addHelpText('after', examples(['torpor drain node node-1']))
    .action(async (name: string, _options: object, command: Command) => {
      const client = await context.client(command)
      const act = () => client.node(name).drain({ signal: context.world.signal })
      await report(context, command, act, (after) => ({ done: `node ${name} drains`, more: after.state }))
    })
  return new Command('drain').description('empty a node').addCommand(node)
}
