import type { CloudEvent } from '@torpor/contracts'
import { TorporError, displayName, parseEntityKey } from '@torpor/contracts'
import type { TorporClient } from '@torpor/sdk'
import type { Command } from 'commander'
import type { Context } from '../context.ts'
import type { Kind } from '../domain/target.ts'
import { entityOf } from '../domain/target.ts'
import { documentText } from '../output/document.ts'
import type { GetOptions } from './get-options.ts'
import { atespaceFilter } from './get-options.ts'
import type { Listing } from './listings.ts'
import { LISTINGS } from './listings.ts'

/** `get -w`: what is there, then a row for each change of it. Nothing between the two is missed. */
export async function watchEntities(
  context: Context,
  kind: Exclude<Kind, 'worker'>,
  name: string | undefined,
  options: GetOptions,
  command: Command,
): Promise<void> {
  const { signal } = context.world
  const client = await context.client(command)
  const ref = name === undefined ? undefined : entityOf(kind, name, options.atespace, context.world)
  const space = ref?.atespace ?? atespaceFilter(context, options)
  const isSpaced = kind === 'actor' || kind === 'actor-template'
  const filter = isSpaced && space !== '' ? { atespace: space, actor: ref?.name } : {}
  const events = client.events({ ...filter, from: 'now', signal })[Symbol.asyncIterator]()
  let next = events.next()
  const rows = rowWriter(context, LISTINGS[kind], command)
  const first =
    ref === undefined
      ? LISTINGS[kind].list(client, space, { signal })
      : [await LISTINGS[kind].get(client, ref, { signal })]
  const items: unknown[] = []
  for await (const item of first) items.push(item)
  rows.start(items)
  for (let step = await next; !step.done; step = await next) {
    next = events.next()
    const changed = parseEntityKey(step.value.subject)
    if (changed.kind !== kind || (ref !== undefined && changed.name !== ref.name)) continue
    await writeChange(context, client, step.value, rows)
  }
}

async function writeChange(
  context: Context,
  client: TorporClient,
  event: CloudEvent,
  rows: RowWriter,
): Promise<void> {
  const ref = parseEntityKey(event.subject)
  try {
    rows.add(await LISTINGS[ref.kind].get(client, ref, { signal: context.world.signal }))
  } catch (thrown) {
    if (!(thrown instanceof TorporError) || !/_(GONE|UNKNOWN)$/.test(thrown.code)) throw thrown
    context.world.writeError(`${ref.kind} ${displayName(ref)} is gone\n`)
  }
}

type RowWriter = { start(items: readonly unknown[]): void; add(item: unknown): void }

/** Writes rows one by one under heads that were written once, in columns as wide as the first rows need. */
function rowWriter(context: Context, listing: Listing, command: Command): RowWriter {
  const { world } = context
  const { output } = context.options(command)
  let widths: readonly number[] = []
  const writeCells = (cells: readonly string[]): void =>
    world.write(
      `${cells
        .map((cell, index) => cell.padEnd(widths[index] ?? 0))
        .join('  ')
        .trimEnd()}\n`,
    )
  const add = (item: unknown): void => {
    if (output === 'table') return writeCells(listing.cells(item, world.clock.nowMs()))
    world.write(output === 'json' ? `${JSON.stringify(item)}\n` : `---\n${documentText('yaml', item)}`)
  }
  return {
    start(items) {
      const rows = [listing.heads, ...items.map((item) => listing.cells(item, world.clock.nowMs()))]
      widths = listing.heads.map((_, index) => Math.max(...rows.map((cells) => cells[index]?.length ?? 0)))
      if (output === 'table') writeCells(listing.heads)
      for (const item of items) add(item)
    },
    add,
  }
}
