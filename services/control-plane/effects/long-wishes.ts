import type { Actor, ActorTemplate, EntityRef } from '@torpor/contracts'
import { entityKey, isGone } from '@torpor/contracts'
import type { Context } from '../context.ts'
import { systemCommand } from '../entities/system-command.ts'
import { resumeActor } from '../handlers/resume-actor.ts'
import { takeGoldenSnapshot } from './golden-snapshots.ts'

/**
 * What an entity's state wishes for that takes several steps: a template its golden snapshot, an actor that was restarted or
 * reverted "then resume" its wake. One flight per entity; tried again by each round of the clock while the wish is there.
 */
export type LongWishes = {
  /** Takes notice of a state; starts what it wishes for. */
  see(ref: EntityRef, state: unknown): void
  /** Starts again what is wished for still. */
  again(): void
}

type Wish = (context: Context) => Promise<unknown>

export function followWishes(context: Context): LongWishes {
  const wishing = new Map<string, EntityRef>()
  const flying = new Set<string>()
  const start = (key: string, wish: Wish) => {
    if (flying.has(key)) return
    flying.add(key)
    wish(context)
      .catch((cause: unknown) => context.note('warn', `${key} waits`, { cause: String(cause) }))
      .finally(() => flying.delete(key))
  }
  const see = (ref: EntityRef, state: unknown) => {
    const key = entityKey(ref)
    const wish = wishOf(ref, state)
    if (wish === undefined) return void wishing.delete(key)
    wishing.set(key, ref)
    start(key, wish)
  }
  return {
    see,
    again: () => wishing.forEach((ref) => see(ref, context.host.peek(ref))),
  }
}

function wishOf(ref: EntityRef, state: unknown): Wish | undefined {
  if (state === undefined || isGone(state)) return undefined
  if (ref.kind === 'actor-template') {
    const template = state as ActorTemplate
    return template.golden.phase === 'PENDING'
      ? (context) => takeGoldenSnapshot(context, template)
      : undefined
  }
  const actor = state as Actor
  const wakes = ref.kind === 'actor' && actor.state === 'ACTOR_STATE_SUSPENDED' && actor.wakeWanted === true
  return wakes ? (context) => wake(context, ref) : undefined
}

const wake: (context: Context, ref: EntityRef) => Promise<unknown> = (context, ref) =>
  resumeActor(systemCommand(context, ref, 'ResumeActor', { trigger: 'restart' }), context)
