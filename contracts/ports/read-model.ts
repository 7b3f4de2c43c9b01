import type { ListReply, ListRequest } from '../messages/commands.ts'
import type { Actor } from '../resources/actor.ts'
import type { ActorTemplate } from '../resources/actor-template.ts'
import type { Atespace } from '../resources/atespace.ts'
import type { Node } from '../resources/node.ts'
import type { WorkerPool } from '../resources/worker-pool.ts'

/** A row to write: the whole state of an entity after the last event of a frame, or its end. */
export type ReadModelChange = {
  readonly key: string
  readonly kind: string
  readonly atespace: string
  readonly name: string
  /** Undefined: the entity is gone. */
  readonly state: Actor | ActorTemplate | WorkerPool | Atespace | Node | undefined
}

/** The projection in a database. One position per shard, moved in the same transaction as the rows. */
export interface ReadModel {
  /** Sequence of the last frame that is in the rows of this shard; 0 when none is. */
  position(shard: number): Promise<number>
  /** Writes rows and position in one transaction; does nothing when the position is there already. */
  apply(shard: number, sequence: number, changes: readonly ReadModelChange[]): Promise<void>
  /** All entities of a shard, to go on folding after a restart. */
  load(shard: number): AsyncIterable<ReadModelChange>
  list(kind: string, request: ListRequest): Promise<ListReply<unknown>>
  close(): Promise<void>
}
