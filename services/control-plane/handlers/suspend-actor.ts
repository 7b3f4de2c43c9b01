import type { Actor, ErrorCode, HostCommand, Reply } from '@torpor/contracts'
import { ERRORS, LIMITS, displayName, isGone, refuse } from '@torpor/contracts'
import type { Context } from '../context.ts'
import { awaitStarted } from '../entities/await-started.ts'

/** Suspends an actor and answers when its snapshot is kept: on the node (async) or in the object store (sync). */
export async function suspendActor(command: HostCommand, context: Context): Promise<Reply<unknown>> {
  await awaitStarted(command.target, context)
  const outcome = await context.host.submit(command)
  if (!outcome.ok) return { ok: false, error: outcome.refusal }
  const name = displayName(command.target)
  const end = await context.commits.until<Reply<unknown>>(
    command.target,
    LIMITS.rpcTimeoutMs,
    (state, commit) => {
      if (state === undefined || isGone(state)) return { ok: false, error: refuse('ACTOR_GONE', name) }
      const actor = state as Actor
      if (actor.state === 'ACTOR_STATE_SUSPENDED') return { ok: true, result: { actor } }
      if (actor.state === 'ACTOR_STATE_SUSPENDING') return undefined
      if (commit?.event.type === 'ActorSuspendAbandoned') {
        return {
          ok: false,
          error: refuse(knownCode(commit.event.data.code), name, commit.event.data.message),
        }
      }
      return actor.state === 'ACTOR_STATE_CRASHED'
        ? { ok: false, error: refuse('ACTOR_CRASHED', name, actor.crash?.message) }
        : { ok: false, error: refuse('ACTOR_STATE_CONFLICT', name, actor.state) }
    },
  )
  return end ?? { ok: false, error: refuse('SHARD_MOVED', name, 'its suspend goes on') }
}

const knownCode = (code: string): ErrorCode =>
  Object.hasOwn(ERRORS, code) ? (code as ErrorCode) : 'SUSPEND_FAILED'
