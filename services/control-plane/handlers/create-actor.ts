import type { ActorTemplate, CommandData, HostCommand, Reply } from '@torpor/contracts'
import { atespaceRef, checkRef, refuse, templateRef } from '@torpor/contracts'
import type { Context } from '../context.ts'
import { fetchEntity } from '../entities/fetch-entity.ts'
import { submit } from './submit.ts'

/**
 * Creates an actor at rest: it borrows its template's golden snapshot. Books nothing, asks no node. A command that comes with
 * its facts is the control plane's own: a hidden golden actor.
 */
export async function createActor(command: HostCommand, context: Context): Promise<Reply<unknown>> {
  if (command.facts !== undefined) return submit(command, context)
  const { template: named } = command.data as CommandData<'CreateActor'>
  const ref = templateRef(named.atespace, named.name)
  const badName = checkRef(ref)
  if (badName !== undefined) return { ok: false, error: badName }
  const [template, atespace] = await Promise.all([
    fetchEntity<ActorTemplate>(context, ref),
    fetchEntity(context, atespaceRef(command.target.atespace)),
  ])
  if (atespace === undefined) {
    return { ok: false, error: refuse('ATESPACE_UNKNOWN', command.target.atespace) }
  }
  return submit({ ...command, facts: { template } }, context)
}
