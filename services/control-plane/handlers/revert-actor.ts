import type { Actor, CommandData, HostCommand, Reply } from '@torpor/contracts'
import { LIMITS, displayName, isGone, refuse } from '@torpor/contracts'
import type { Context } from '../context.ts'
import { awaitStarted } from '../entities/await-started.ts'
import { systemCommand } from '../entities/system-command.ts'
import { resumeActor } from './resume-actor.ts'

/** Ends what runs and goes back to the newest COMPLETED snapshot; with `thenResume` it wakes from there. */
export async function revertActor(command: HostCommand, context: Context): Promise<Reply<unknown>> {
  await awaitStarted(command.target, context)
  const outcome = await context.host.submit(command)
  if (!outcome.ok) return { ok: false, error: outcome.refusal }
  const name = displayName(command.target)
  const end = await context.commits.until<Reply<unknown>>(command.target, LIMITS.rpcTimeoutMs, (state) => {
    if (state === undefined || isGone(state)) return { ok: false, error: refuse('ACTOR_GONE', name) }
    const actor = state as Actor
    return actor.state === 'ACTOR_STATE_REVERTING' ? undefined : { ok: true, result: { actor } }
  })
  if (end === undefined) return { ok: false, error: refuse('SHARD_MOVED', name, 'its revert goes on') }
  const { thenResume } = command.data as CommandData<'RevertActor'>
  if (!end.ok || !thenResume) return end
  // The wish to wake is in the state, and an effect makes it true; this joins that flight, to answer with its end.
  const wake = systemCommand(context, command.target, 'ResumeActor', { trigger: 'revert' })
  return resumeActor({ ...wake, correlationId: command.correlationId }, context)
}
