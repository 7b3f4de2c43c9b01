import type { EntityKind, HostCommand, Reply } from '@torpor/contracts'
import { displayName, isGone, refuse } from '@torpor/contracts'
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
  const { target } = command
  // Decided, and then the shard went to another owner: who has the state answers the same command.
  if (!context.host.owns(context.host.shardOf(target))) {
    return { ok: false, error: refuse('SHARD_MOVED', displayName(target)) }
  }
  return { ok: true, result: { ...entityField(command, context.host.peek(target)) } }
}

/** `{ actor: … }`, or nothing once the entity is gone. */
export function entityField(command: HostCommand, state: unknown): Record<string, unknown> {
  return state === undefined || isGone(state) ? {} : { [FIELD_OF_KIND[command.target.kind]]: state }
}
