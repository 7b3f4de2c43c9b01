import type { ChainPosition } from '../frame-chain.ts'
import type { ListReply, ListRequest } from '../messages/commands.ts'
import type { EntityKind } from '../names.ts'
import type { Actor } from '../resources/actor.ts'
import type { ActorTemplate } from '../resources/actor-template.ts'
import type { Atespace } from '../resources/atespace.ts'
import type { Node } from '../resources/node.ts'
import type { WorkerPool } from '../resources/worker-pool.ts'

/** The state of an entity of any kind. */
export type EntityState = Actor | ActorTemplate | WorkerPool | Atespace | Node

/** A row to write: the whole state of an entity after the last event of a frame, or its end. */
export type ReadModelChange = {
  /** `entityKey` of the entity. */
  readonly key: string
  readonly kind: EntityKind
  readonly atespace: string
  readonly name: string
  /** Undefined: the entity is gone. */
  readonly state: EntityState | undefined
}

/**
 * The projection in a database. One position per shard, moved in the same transaction as the rows. Laws
 * (`ports/laws/read-model-laws.ts`): rows and position move together or not at all; a page holds what the order says, each
 * item once; hidden golden actors are in no list. Faults: READ_MODEL_UNAVAILABLE (try again).
 */
export interface ReadModel {
  /** How far the rows of this shard are in its chain of frames; `CHAIN_START` when no frame is in them. */
  position(shard: number): Promise<ChainPosition>
  /**
   * Writes rows and moves the position from `after` to `to` in one transaction. False, and nothing is written, when the
   * position is not `after`: another projector was faster, or an earlier call was committed though its answer was lost.
   */
  apply(
    shard: number,
    after: ChainPosition,
    to: ChainPosition,
    changes: readonly ReadModelChange[],
  ): Promise<boolean>
  /** The states of these entities of one kind, by key; an entity without a row is left out. */
  read(kind: EntityKind, keys: readonly string[]): Promise<ReadonlyMap<string, EntityState>>
  /** Items in order of atespace, then name; `nextPageToken` is empty at the end. Throws COMMAND_MALFORMED for a bad token. */
  list(kind: EntityKind, request: ListRequest): Promise<ListReply<EntityState>>
  /** Drops every row and position, so that a replay builds them anew. */
  clear(): Promise<void>
  close(): Promise<void>
}
