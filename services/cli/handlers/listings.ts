import type { EntityRef } from '@torpor/contracts'
import type { CallOptions, TorporClient } from '@torpor/sdk'
import type { Kind } from '../domain/target.ts'
import type { Columns } from '../output/columns.ts'
import {
  ACTOR_COLUMNS,
  ATESPACE_COLUMNS,
  NODE_COLUMNS,
  POOL_COLUMNS,
  TEMPLATE_COLUMNS,
} from '../output/columns.ts'

/** How a kind is read and shown, with the type of its items forgotten. */
export type Listing = {
  readonly heads: readonly string[]
  cells(item: unknown, nowMs: number): readonly string[]
  get(client: TorporClient, ref: EntityRef, call: CallOptions): Promise<unknown>
  list(client: TorporClient, atespace: string, call: CallOptions): AsyncIterable<unknown>
}

export const LISTINGS: Readonly<Record<Exclude<Kind, 'worker'>, Listing>> = {
  actor: listing(
    ACTOR_COLUMNS,
    (client, ref, call) => client.actor(ref.atespace, ref.name).get(call),
    (client, atespace, call) => client.listAll('ListActors', { atespace }, call),
  ),
  'actor-template': listing(
    TEMPLATE_COLUMNS,
    (client, ref, call) => client.template(ref.atespace, ref.name).get(call),
    (client, atespace, call) => client.listAll('ListActorTemplates', { atespace }, call),
  ),
  'worker-pool': listing(
    POOL_COLUMNS,
    (client, ref, call) => client.workerPool(ref.name).get(call),
    (client, _, call) => client.listAll('ListWorkerPools', {}, call),
  ),
  node: listing(
    NODE_COLUMNS,
    (client, ref, call) => client.node(ref.name).get(call),
    (client, _, call) => client.listAll('ListNodes', {}, call),
  ),
  atespace: listing(
    ATESPACE_COLUMNS,
    (client, ref, call) => client.atespace(ref.name).get(call),
    (client, _, call) => client.listAll('ListAtespaces', {}, call),
  ),
}

function listing<Item>(
  columns: Columns<Item>,
  get: (client: TorporClient, ref: EntityRef, call: CallOptions) => Promise<Item>,
  list: (client: TorporClient, atespace: string, call: CallOptions) => AsyncIterable<Item>,
): Listing {
  return { heads: columns.heads, cells: (item, nowMs) => columns.cells(item as Item, nowMs), get, list }
}
