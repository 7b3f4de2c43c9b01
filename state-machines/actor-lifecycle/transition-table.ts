import type { ActorStateName, DomainEvent } from '@torpor/contracts'
import { readTransitions } from '../transition-table.ts'
import type { ActorEventName, NoActor } from './machine.ts'
import { actorMachine } from './machine.ts'

/** The actor's machine as a look-up table. */
export const ACTOR_TRANSITIONS = readTransitions<ActorStateName | NoActor, ActorEventName>(actorMachine)

/** An event of the actor's own life; what else a log may say of an actor (`CommandRefused`) changes nothing. */
export type ActorEvent = Extract<DomainEvent, { type: ActorEventName }>

const NAMES: ReadonlySet<string> = new Set(Object.values(ACTOR_TRANSITIONS).flatMap(Object.keys))

export const isActorEvent = (event: DomainEvent): event is ActorEvent => NAMES.has(event.type)
