import type { EntityRef } from '@torpor/contracts'
import { NO_PREVIOUS, isGone } from '@torpor/contracts'

/** One entity as it stands after one of its events. An immutable value. */
export type Entity = {
  readonly key: string
  readonly ref: EntityRef
  /** What the decider's `evolve` gave; a `Gone` for a name that was deleted. */
  readonly state: unknown
  /** Of its last event; counts from 1 again when a deleted name is created again. */
  readonly version: number
  /** SHA-256 of its last event's line: what the next one names as `actorprev`. */
  readonly lineHash: string
  /** The frame that carries its last event. */
  readonly frame: number
}

/** Where an entity begins, for the first time or again after it was deleted. */
export type Beginning = Pick<Entity, 'state' | 'version' | 'lineHash' | 'frame'>

const NEVER: Beginning = { state: undefined, version: 0, lineHash: NO_PREVIOUS, frame: 0 }

/**
 * What the next event of an entity builds on. After `Gone` version and chain begin anew; the decider still sees the `Gone`
 * until its time is over, so that it can tell a deleted name from an unknown one.
 */
export function beginningOf(entity: Entity | undefined, nowMs: number): Beginning {
  if (entity === undefined) return NEVER
  if (!isGone(entity.state)) return entity
  const state = entity.state.untilMs > nowMs ? entity.state : undefined
  return { ...NEVER, state, frame: entity.frame }
}

/** The id of an incarnation, where its state holds one. */
export function uidOf(state: unknown): string | undefined {
  const uid = typeof state === 'object' && state !== null && 'uid' in state ? state.uid : undefined
  return typeof uid === 'string' ? uid : undefined
}
