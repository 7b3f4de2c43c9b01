import type { Actor, DomainEvent, EntityKind, EntityRef, EventPosition, Gone } from '@torpor/contracts'
import type { ActorTemplate, Atespace, Decider, Node, WorkerPool } from '@torpor/contracts'
import { actorDecider } from './actor-lifecycle/decider.ts'
import { actorTemplateDecider } from './actor-template/decider.ts'
import { atespaceDecider } from './atespace/decider.ts'
import { nodeDecider } from './node-membership/decider.ts'
import { workerPoolDecider } from './worker-pool/decider.ts'

/** State of an entity by its kind. */
export type EntityStates = {
  readonly actor: Actor
  readonly 'actor-template': ActorTemplate
  readonly 'worker-pool': WorkerPool
  readonly atespace: Atespace
  readonly node: Node
}

const BY_KIND: { readonly [Kind in EntityKind]: Decider<EntityStates[Kind]> } = {
  actor: actorDecider,
  'actor-template': actorTemplateDecider,
  'worker-pool': workerPoolDecider,
  atespace: atespaceDecider,
  node: nodeDecider,
}

/** The deciders of every kind of entity, for a host that does not look into states. */
export const ALL_DECIDERS = Object.values(BY_KIND) as unknown as readonly Decider<unknown>[]

/**
 * An entity after an event, for whoever folds the log without deciding: projector, verifier, replay.
 * @example state = evolveEntity('actor', state, event, ref, { version, epoch, timeMs })
 */
export function evolveEntity<Kind extends EntityKind>(
  kind: Kind,
  state: EntityStates[Kind] | Gone | undefined,
  event: DomainEvent,
  ref: EntityRef,
  position: EventPosition,
): EntityStates[Kind] | Gone | undefined {
  return BY_KIND[kind].evolve(state, event, ref, position)
}
