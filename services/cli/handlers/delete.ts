import type { EntityRef } from '@torpor/contracts'
import { displayName } from '@torpor/contracts'
import type { CallOptions, TorporClient } from '@torpor/sdk'
import { Argument, Command } from 'commander'
import { examples } from '../output/examples.ts'
import type { Context } from '../context.ts'
import { entityOf, kindOf, spellingsOf } from '../domain/target.ts'
import { report } from '../output/result.ts'

const KINDS = ['actor', 'actor-template', 'worker-pool', 'atespace'] as const
type DeletableKind = (typeof KINDS)[number]
type Options = { atespace?: string; anyState: boolean }

/** `torpor delete KIND NAME`. */
export function deleteCommand(context: Context): Command {
  return new Command('delete')
    .description('delete an actor, a template, a worker pool or an atespace')
    .addArgument(new Argument('<kind>', 'what it is').choices(spellingsOf(KINDS)))
    .argument('<name>', 'NAME or ATESPACE/NAME')
    .option('-a, --atespace <atespace>', 'atespace; default: TORPOR_ATESPACE')
    .option('--any-state', 'an actor that is neither suspended nor crashed, too', false)
    .addHelpText(
      'after',
      examples([
        'torpor delete actor my-counter-1 -a demo',
        'torpor delete actor demo/my-counter-1 --any-state',
        'torpor delete worker-pool default',
      ]),
    )
    .action(async (spelling: string, name: string, options: Options, command: Command) => {
      const kind = kindOf(spelling) as DeletableKind
      const ref = entityOf(kind, name, options.atespace, context.world)
      const client = await context.client(command)
      const act = () => remove(client, ref, options.anyState, { signal: context.world.signal })
      await report(context, command, act, () => ({ done: `${kind} ${displayName(ref)} deleted` }))
    })
}

function remove(client: TorporClient, ref: EntityRef, anyState: boolean, call: CallOptions): Promise<void> {
  switch (ref.kind) {
    case 'actor':
      return client.actor(ref.atespace, ref.name).delete({ anyState, ...call })
    case 'actor-template':
      return client.template(ref.atespace, ref.name).delete(call)
    case 'worker-pool':
      return client.workerPool(ref.name).delete(call)
    default:
      return client.atespace(ref.name).delete(call)
  }
}
