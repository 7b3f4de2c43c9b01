import type { Actor, ActorTemplate, Clock, EntityRef } from '@torpor/contracts'
import { LIMITS, entityKey, isGone } from '@torpor/contracts'
import type { Context } from '../context.ts'
import { systemCommand } from '../entities/system-command.ts'
import { resumeActor } from '../handlers/resume-actor.ts'
import { takeGoldenSnapshot } from './golden-snapshots.ts'

/**
 * What an entity's state wishes for that takes several steps: a template its golden snapshot, an actor that was restarted or
 * reverted "then resume" its wake. One flight per entity, `wakesWantedAtOnceMax` wakes at a time; one that came to nothing is
 * tried again after a wait that doubles (`wishBackoffMsMin`–`wishBackoffMsMax`), for as long as the wish is there.
 */
export type LongWishes = {
  /** Takes notice of a state; starts what it wishes for. */
  see(ref: EntityRef, state: unknown): void
  /** Starts what is due. */
  again(): void
}

type Wish = { readonly kind: 'golden' | 'wake'; readonly run: (context: Context) => Promise<unknown> }
type Wishing = { readonly ref: EntityRef; waitMs: number; notBeforeMs: number }

export function followWishes(context: Context): LongWishes {
  const wishing = new Map<string, Wishing>()
  const flying = new Map<string, Wish['kind']>()
  const wakesFlying = () => [...flying.values()].filter((kind) => kind === 'wake').length

  const start = (key: string, entry: Wishing, wish: Wish) => {
    flying.set(key, wish.kind)
    wish
      .run(context)
      .catch((cause: unknown) => context.note('warn', `${key} waits`, { cause: String(cause) }))
      .finally(() => {
        flying.delete(key)
        putOff(entry, context.clock)
        again()
      })
  }
  const startIfDue = (key: string, entry: Wishing) => {
    const wish = wishOf(entry.ref, context.host.peek(entry.ref))
    if (wish === undefined) return void (flying.has(key) || wishing.delete(key))
    const mayFly = wish.kind === 'golden' || wakesFlying() < LIMITS.wakesWantedAtOnceMax
    if (mayFly && !flying.has(key) && entry.notBeforeMs <= context.clock.monotonicMs())
      start(key, entry, wish)
  }
  const again = () => wishing.forEach((entry, key) => startIfDue(key, entry))
  return {
    see(ref, state) {
      const key = entityKey(ref)
      const wish = wishOf(ref, state)
      if (wish === undefined) return void wishing.delete(key)
      const entry = wishing.get(key) ?? { ref, waitMs: 0, notBeforeMs: 0 }
      wishing.set(key, entry)
      startIfDue(key, entry)
    },
    again,
  }
}

function putOff(entry: Wishing, clock: Clock): void {
  entry.waitMs = Math.min(Math.max(2 * entry.waitMs, LIMITS.wishBackoffMsMin), LIMITS.wishBackoffMsMax)
  entry.notBeforeMs = clock.monotonicMs() + entry.waitMs
}

function wishOf(ref: EntityRef, state: unknown): Wish | undefined {
  if (state === undefined || isGone(state)) return undefined
  if (ref.kind === 'actor-template') {
    const template = state as ActorTemplate
    if (template.golden.phase !== 'PENDING') return undefined
    return { kind: 'golden', run: (context) => takeGoldenSnapshot(context, template) }
  }
  const actor = state as Actor
  const wakes = ref.kind === 'actor' && actor.state === 'ACTOR_STATE_SUSPENDED' && actor.wakeWanted === true
  return wakes ? { kind: 'wake', run: (context) => wake(context, ref) } : undefined
}

const wake: (context: Context, ref: EntityRef) => Promise<unknown> = (context, ref) =>
  resumeActor(systemCommand(context, ref, 'ResumeActor', { trigger: 'restart' }), context)
