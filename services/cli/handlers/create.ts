import { Command } from 'commander'
import { examples } from '../output/examples.ts'
import type { Context } from '../context.ts'
import { entityOf } from '../domain/target.ts'
import { report } from '../output/result.ts'

/** `torpor create actor NAME --template T`, `torpor create atespace NAME`. */
export function createCommand(context: Context): Command {
  return new Command('create')
    .description('create an actor or an atespace (templates and worker pools: torpor apply)')
    .addCommand(createActor(context))
    .addCommand(createAtespace(context))
    .addHelpText(
      'after',
      examples([
        'torpor create atespace demo',
        'torpor create actor my-counter-1 -a demo --template counter',
      ]),
    )
}

function createActor(context: Context): Command {
  return new Command('actor')
    .description('create an actor, suspended, on the golden snapshot of its template')
    .argument('<name>', 'NAME or ATESPACE/NAME')
    .requiredOption('-t, --template <template>', 'NAME in the same atespace, or ATESPACE/NAME')
    .option('-a, --atespace <atespace>', 'atespace; default: TORPOR_ATESPACE')
    .addHelpText(
      'after',
      examples([
        'torpor create actor my-counter-1 -a demo --template counter',
        'torpor create actor demo/my-counter-1 --template shared/counter',
      ]),
    )
    .action(async (name: string, options: { template: string; atespace?: string }, command: Command) => {
      const ref = entityOf('actor', name, options.atespace, context.world)
      const template = entityOf('actor-template', options.template, ref.atespace, context.world)
      const client = await context.client(command)
      const act = () =>
        client.actor(ref.atespace, ref.name).create({
          template: { atespace: template.atespace, name: template.name },
          signal: context.world.signal,
        })
      await report(context, command, act, (actor) => ({
        done: `actor ${ref.atespace}/${ref.name} created`,
        more: actor.state,
      }))
    })
}

function createAtespace(context: Context): Command {
  return new Command('atespace')
    .description('create an atespace: the isolation boundary that actors and templates are created in')
    .argument('<name>', 'its name')
    .addHelpText('after', examples(['torpor create atespace demo']))
    .action(async (name: string, _options: object, command: Command) => {
      const client = await context.client(command)
      const act = () => client.atespace(name).create({ signal: context.world.signal })
      await report(context, command, act, () => ({ done: `atespace ${name} created` }))
    })
}
