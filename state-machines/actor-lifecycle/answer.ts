import type { ActorStateName } from '@torpor/contracts'
import type { NoActor, RouterTag } from './machine.ts'
import { actorMachine } from './machine.ts'

const ANSWERS = Object.fromEntries(
  Object.entries(actorMachine.states).map(([state, node]) => [state, node.tags[0]]),
) as Readonly<Record<ActorStateName | NoActor, RouterTag>>

/**
 * What the router does with a request for an actor in this state: `wakes` it, `parks` the request, `routes` it to the gate,
 * or `rejects` it. Read off the machine's tags.
 * @example routerAnswer('ACTOR_STATE_RUNNING') === 'routes'
 */
export const routerAnswer = (state: ActorStateName | NoActor): RouterTag => ANSWERS[state]
