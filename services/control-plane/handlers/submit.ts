import type { EntityKind, HostCommand, Reply } from '@torpor/contracts'
import { isGone } from '@torpor/contracts'
import type { Context } from '../context.ts'

const FIELD_OF_KIND: Readonly<Record<EntityKind, string>> = {
  actor: 'actor',
  'actor-template': 'template',
  'worker-pool': 'workerPool',
  atespace: 'atespace',
  node: 'node',
}

/** Decides the command, and answers with the entity as it is after. */
export async function submit(command: HostCommand, context: Context): Promise<Reply<unknown>> {
  const outcome = await context.host.submit(command)
  if (!outcome.ok) return { ok: false, error: outcome.refusal }
  return { ok: true, result: { ...entityField(command, context.host.peek(command.target)) } }
}

/** `{ actor: … }`, or nothing once the entity is gone. */
export function entityField(command: HostCommand, state: unknown): Record<string, unknown> {
  return state === undefined || isGone(state) ? {} : { [FIELD_OF_KIND[command.target.kind]]: state }
}
