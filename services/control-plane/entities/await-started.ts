import type { Actor, EntityRef } from '@torpor/contracts'
import { LIMITS } from '@torpor/contracts'
import type { Context } from '../context.ts'

/**
 * For the verbs that need an actor that runs. Whoever had an answer from the actor may send one before the log says that it
 * runs: its gate is open a moment earlier. One that still starts after `startAwaitedMs` is left to the decision, which refuses.
 */
export async function awaitStarted(target: EntityRef, context: Context): Promise<void> {
  const isStarting = (state: unknown): boolean =>
    (state as Actor | undefined)?.state === 'ACTOR_STATE_RESUMING'
  if (!isStarting(context.host.peek(target))) return
  await context.commits.until<true>(target, LIMITS.startAwaitedMs, (state) =>
    isStarting(state) ? undefined : true,
  )
}
