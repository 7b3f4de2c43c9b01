import type { Actor, ActorTemplate, EntityKind, EntityState, Node, WorkerPool } from '@torpor/contracts'
import type { ColumnType } from 'kysely'

/** The table of each kind. All have the same columns; what a kind does not have is empty. */
export const TABLES = {
  actor: 'actors',
  'actor-template': 'actor_templates',
  'worker-pool': 'worker_pools',
  atespace: 'atespaces',
  node: 'nodes',
} as const satisfies Record<EntityKind, string>

export type EntityTableName = (typeof TABLES)[EntityKind]

/** Columns beside `state` are for people with psql and for indexes; the state says it all. */
export type EntityTable = {
  readonly atespace: string
  readonly name: string
  readonly uid: string
  readonly state_name: string
  readonly template: string
  readonly node: string
  readonly version: number
  readonly create_time_ms: number
  readonly update_time_ms: number
  /** A golden actor: there, but in no list. */
  readonly hidden: boolean
  readonly state: ColumnType<EntityState, string, string>
}

export type Database = { readonly [Table in EntityTableName]: EntityTable } & {
  /** Where the chain of frames of each shard stands that is in the rows. */
  readonly positions: {
    readonly shard: number
    readonly epoch: number
    readonly frame: number
    readonly frameprev: string
    readonly time_ms: number
  }
}

export type ProjectedColumns = Omit<EntityTable, 'atespace' | 'name' | 'state'>

const NOTHING = { state_name: '', template: '', node: '', hidden: false }

/** The columns of a state beside its names and itself. */
export function projectColumns(kind: EntityKind, state: EntityState): ProjectedColumns {
  const { uid, version, createTimeMs } = state
  const all = { ...NOTHING, uid, version, create_time_ms: createTimeMs, update_time_ms: createTimeMs }
  switch (kind) {
    case 'actor':
      return { ...all, ...actorColumns(state as Actor) }
    case 'actor-template':
      return { ...all, state_name: (state as ActorTemplate).golden.phase }
    case 'worker-pool':
      return {
        ...all,
        state_name: `${(state as WorkerPool).workers.length}/${(state as WorkerPool).spec.replicas}`,
      }
    case 'node':
      return { ...all, state_name: (state as Node).state }
    case 'atespace':
      return all
  }
}

const actorColumns = (actor: Actor) => ({
  state_name: actor.state,
  template: `${actor.template.atespace}/${actor.template.name}`,
  node: actor.worker?.node ?? actor.assignedNode,
  update_time_ms: actor.updateTimeMs,
  hidden: actor.golden,
})
