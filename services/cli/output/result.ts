import type { Command } from 'commander'
import type { Context } from '../context.ts'
import { took } from '../domain/durations.ts'
import { documentText } from './document.ts'

/**
 * Does a command and says so: one line with the time it took, or the entity itself with `-o json` or `-o yaml`.
 * `describe` gives the line's words before and after the time.
 */
export async function report<Entity>(
  context: Context,
  command: Command,
  act: () => Promise<Entity>,
  describe: (entity: Entity) => { readonly done: string; readonly more?: string },
): Promise<void> {
  const { clock } = context.world
  const startMs = clock.monotonicMs()
  const entity = await act()
  const { output } = context.options(command)
  if (output !== 'table') {
    if (entity !== undefined) context.world.write(documentText(output, entity))
    return
  }
  const { done, more } = describe(entity)
  const line = `${done} in ${took(clock.monotonicMs() - startMs)}`
  context.world.write(`${line}${more === undefined || more === '' ? '' : ` (${more})`}\n`)
}
