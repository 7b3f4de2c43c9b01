import type { Actor, HostCommand, Reply } from '@torpor/contracts'
import { displayName, isGone, refuse } from '@torpor/contracts'
import type { Context } from '../context.ts'

/**
 * A report of a node. It is about one incarnation: a name that was created again never takes what its predecessor's node
 * still has to say.
 */
export async function submitReport(command: HostCommand, context: Context): Promise<Reply<unknown>> {
  const { actorUid } = command.facts as { readonly actorUid: string }
  const { state } = await context.host.read(command.target)
  if (state === undefined || isGone(state) || (state as Actor).uid !== actorUid) {
    return { ok: false, error: refuse('ACTOR_UNKNOWN', displayName(command.target), `uid ${actorUid}`) }
  }
  const outcome = await context.host.submit(command)
  return outcome.ok ? { ok: true, result: {} } : { ok: false, error: outcome.refusal }
}
