import type { HostCommand, Reply } from '@torpor/contracts'
import { atespaceRef } from '@torpor/contracts'
import type { Context } from '../context.ts'
import { fetchEntity } from '../entities/fetch-entity.ts'
import { submit } from './submit.ts'

/** Creates a template; its golden snapshot is taken afterwards (effects/golden-snapshots.ts). */
export async function createActorTemplate(command: HostCommand, context: Context): Promise<Reply<unknown>> {
  const atespace = await fetchEntity(context, atespaceRef(command.target.atespace))
  return submit({ ...command, facts: { atespaceExists: atespace !== undefined } }, context)
}
