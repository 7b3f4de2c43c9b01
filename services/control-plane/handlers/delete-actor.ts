import type { HostCommand, Reply } from '@torpor/contracts'
import { LIMITS, displayName, isGone, refuse } from '@torpor/contracts'
import type { Context } from '../context.ts'

/** Deletes an actor and answers when nothing of it is left. */
export async function deleteActor(command: HostCommand, context: Context): Promise<Reply<unknown>> {
  const outcome = await context.host.submit(command)
  if (!outcome.ok) return { ok: false, error: outcome.refusal }
  const end = await context.commits.until<Reply<unknown>>(command.target, LIMITS.rpcTimeoutMs, (state) =>
    state === undefined || isGone(state) ? { ok: true, result: {} } : undefined,
  )
  const name = displayName(command.target)
  return end ?? { ok: false, error: refuse('SHARD_MOVED', name, 'its deletion goes on') }
}
