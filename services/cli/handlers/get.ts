import { Argument, Command } from 'commander'
import { examples } from '../output/examples.ts'
import type { Context } from '../context.ts'
import type { Kind } from '../domain/target.ts'
import { ALL_KINDS, entityOf, kindOf, spellingsOf } from '../domain/target.ts'
import { documentText } from '../output/document.ts'
import { table } from '../output/table.ts'
import { untilInterrupted } from '../until-interrupted.ts'
import type { GetOptions } from './get-options.ts'
import { atespaceFilter } from './get-options.ts'
import { LISTINGS } from './listings.ts'
import { watchEntities } from './watch-entities.ts'
import { workerItems, workerTable } from './workers.ts'

/** `torpor get KIND [NAME]`. */
export function getCommand(context: Context): Command {
  return new Command('get')
    .description('show one thing, from the log, or many, from the read model')
    .addArgument(new Argument('<kind>', 'what to show').choices(spellingsOf(ALL_KINDS)))
    .argument('[name]', 'one of them: NAME or ATESPACE/NAME')
    .option('-a, --atespace <atespace>', 'of one atespace; default: TORPOR_ATESPACE, else all')
    .option('-A, --all-atespaces', 'of all atespaces, whatever TORPOR_ATESPACE says', false)
    .option('-w, --watch', 'go on with each change, until Ctrl-C', false)
    .addHelpText(
      'after',
      examples([
        'torpor get actors -A',
        'torpor get actor my-counter-1 -a demo -o yaml',
        'torpor get actors -a demo -w',
        'torpor get workers',
      ]),
    )
    .action(async (spelling: string, name: string | undefined, options: GetOptions, command: Command) => {
      const kind = kindOf(spelling)
      if (kind === 'worker') return getWorkers(context, name, command)
      if (options.watch) {
        return untilInterrupted(context.world, () => watchEntities(context, kind, name, options, command))
      }
      return name === undefined
        ? getMany(context, kind, options, command)
        : getOne(context, kind, name, options, command)
    })
}

async function getOne(
  context: Context,
  kind: Exclude<Kind, 'worker'>,
  name: string,
  options: GetOptions,
  command: Command,
): Promise<void> {
  const { world } = context
  const ref = entityOf(kind, name, options.atespace, world)
  const listing = LISTINGS[kind]
  const item = await listing.get(await context.client(command), ref, { signal: world.signal })
  const { output } = context.options(command)
  if (output !== 'table') return world.write(documentText(output, item))
  world.write(table(listing.heads, [listing.cells(item, world.clock.nowMs())]))
}

async function getMany(
  context: Context,
  kind: Exclude<Kind, 'worker'>,
  options: GetOptions,
  command: Command,
): Promise<void> {
  const { world } = context
  const listing = LISTINGS[kind]
  const client = await context.client(command)
  const items: unknown[] = []
  const atespace = atespaceFilter(context, options)
  for await (const item of listing.list(client, atespace, { signal: world.signal })) items.push(item)
  const { output } = context.options(command)
  if (output !== 'table') return world.write(documentText(output, { items }))
  if (items.length === 0)
    return world.writeError(`no ${kind} found${atespace === '' ? '' : ` in atespace ${atespace}`}\n`)
  const nowMs = world.clock.nowMs()
  world.write(
    table(
      listing.heads,
      items.map((item) => listing.cells(item, nowMs)),
    ),
  )
}

async function getWorkers(context: Context, name: string | undefined, command: Command): Promise<void> {
  const { world } = context
  const { bus } = await context.connection(command)
  const items = await workerItems(await context.client(command), bus, world)
  const shown = name === undefined ? items : items.filter(({ worker }) => worker === name)
  const { output } = context.options(command)
  if (output !== 'table')
    return world.write(documentText(output, name === undefined ? { items: shown } : shown[0]))
  if (shown.length === 0) return world.writeError('no worker found\n')
  world.write(workerTable(shown))
}
