import type { Actor, Decider } from '@torpor/contracts'
import { decide } from './decide.ts'
import { evolve } from './evolve.ts'

/** The rules of an actor's life. */
export const actorDecider: Decider<Actor> = {
  kind: 'actor',
  decide,
  evolve,
  timers: (actor) => actor.timers,
}
