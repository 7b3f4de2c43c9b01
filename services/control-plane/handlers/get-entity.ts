import type { EntityKind, HostCommand, Reply } from '@torpor/contracts'
import { displayName, isGone, refuse } from '@torpor/contracts'
import type { ErrorCode } from '@torpor/contracts'
import type { Context } from '../context.ts'
import { entityField } from './submit.ts'

const UNKNOWN: Readonly<Record<EntityKind, ErrorCode>> = {
  actor: 'ACTOR_UNKNOWN',
  'actor-template': 'TEMPLATE_UNKNOWN',
  'worker-pool': 'WORKER_POOL_UNKNOWN',
  atespace: 'ATESPACE_UNKNOWN',
  node: 'NODE_UNKNOWN',
}

/** One entity as the log has it: a consistent read of its shard's owner. */
export async function getEntity(command: HostCommand, context: Context): Promise<Reply<unknown>> {
  const { state } = await context.host.read(command.target)
  const name = displayName(command.target)
  if (isGone(state) && command.target.kind === 'actor' && context.clock.nowMs() < state.untilMs) {
    return { ok: false, error: refuse('ACTOR_GONE', name) }
  }
  if (state === undefined || isGone(state)) {
    return { ok: false, error: refuse(UNKNOWN[command.target.kind], name) }
  }
  return { ok: true, result: entityField(command, state) }
}
