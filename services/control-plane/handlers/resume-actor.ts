import type { Actor, HostCommand, Outcome, Refusal, Reply } from '@torpor/contracts'
import { LIMITS, displayName, entityKey, isGone, refuse, uuidV7 } from '@torpor/contracts'
import type { Context } from '../context.ts'
import { admit } from '../placement/admit.ts'

/** Placements under way on this owner, one per actor: a second resume joins the first. */
const flights = new WeakMap<Context, Map<string, Promise<Outcome>>>()

/**
 * Wakes an actor and answers when it serves, or when its place is in the log for whoever asks for that. The decision needs a
 * node that admits it first; only when the event is in the log is that node told to go (effects/node-actions.ts). What the
 * node says then ends the wait.
 */
export async function resumeActor(command: HostCommand, context: Context): Promise<Reply<unknown>> {
  for (let attempt = 1; ; attempt += 1) {
    // What was decided for the command's own id stands; another attempt is another decision.
    const id = attempt === 1 ? command.id : uuidV7(context.clock, context.random)
    const outcome = await place({ ...command, id }, context)
    if (!outcome.ok) return { ok: false, error: outcome.refusal }
    const actor = context.host.peek(command.target) as Actor | undefined
    if (command.answerWhen === 'placed' && actor?.state === 'ACTOR_STATE_RESUMING') {
      return { ok: true, result: { actor } }
    }
    const end = await awaitEnd(command, context)
    if (end.kind === 'running') return { ok: true, result: { actor: end.actor } }
    if (end.kind === 'refused' || attempt === LIMITS.restoreAttemptsMax) {
      return { ok: false, error: end.refusal }
    }
  }
}

async function place(command: HostCommand, context: Context): Promise<Outcome> {
  const key = entityKey(command.target)
  const flying = flightsOf(context)
  const joined = flying.get(key)
  if (joined !== undefined) await joined.catch(() => undefined)
  const outcome = await context.host.submit(command)
  if (outcome.ok || outcome.refusal.code !== 'PLACEMENT_REQUIRED') return outcome
  const again = flying.get(key)
  if (again !== undefined) return again
  const flight = admitAndStart(command, context)
  flying.set(key, flight)
  return flight.finally(() => flying.delete(key))
}

async function admitAndStart(command: HostCommand, context: Context): Promise<Outcome> {
  const actor = context.host.peek(command.target)
  if (actor === undefined || isGone(actor)) return context.host.submit(command)
  const placement = await admit(context, actor as Actor)
  if ('code' in placement) return context.host.submit({ ...command, facts: { refusal: placement } })
  context.prepareIds.set((actor as Actor).uid, placement.prepareId)
  return context.host.submit({ ...command, facts: { admission: placement } })
}

type End =
  | { readonly kind: 'running'; readonly actor: Actor }
  | { readonly kind: 'abandoned'; readonly refusal: Refusal }
  | { readonly kind: 'refused'; readonly refusal: Refusal }

async function awaitEnd(command: HostCommand, context: Context): Promise<End> {
  const name = displayName(command.target)
  const end = await context.commits.until<End>(command.target, LIMITS.rpcTimeoutMs, (state, commit) => {
    if (state === undefined || isGone(state)) {
      return { kind: 'refused', refusal: refuse('ACTOR_GONE', name) }
    }
    const actor = state as Actor
    if (actor.state === 'ACTOR_STATE_RUNNING') return { kind: 'running', actor }
    if (actor.state === 'ACTOR_STATE_RESUMING') return undefined
    return endOfFailedResume(actor, name, commit?.event.data)
  })
  if (end !== undefined) return end
  const isOurs = context.host.owns(context.host.shardOf(command.target))
  const refusal = isOurs ? refuse('WAKE_TIMEOUT', name) : refuse('SHARD_MOVED', name, 'its resume goes on')
  return { kind: 'refused', refusal }
}

function endOfFailedResume(actor: Actor, name: string, data: unknown): End {
  if (actor.state === 'ACTOR_STATE_CRASHED') {
    return { kind: 'refused', refusal: refuse('ACTOR_CRASHED', name, crashText(actor)) }
  }
  const { code, message } = (data ?? {}) as { code?: string; message?: string }
  if (actor.state === 'ACTOR_STATE_SUSPENDED' && code !== undefined) {
    return { kind: 'abandoned', refusal: refuse('NODE_UNAVAILABLE', name, `${code}: ${message ?? ''}`) }
  }
  return { kind: 'refused', refusal: refuse('ACTOR_STATE_CONFLICT', name, actor.state) }
}

/** `PROBE_FAILED: no answer within its time`. */
const crashText = ({ crash }: Actor): string => (crash === undefined ? '' : `${crash.code}: ${crash.message}`)

function flightsOf(context: Context): Map<string, Promise<Outcome>> {
  const found = flights.get(context) ?? new Map<string, Promise<Outcome>>()
  flights.set(context, found)
  return found
}
