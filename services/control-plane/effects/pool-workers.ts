import type { NodeCapacity, WorkerPool } from '@torpor/contracts'
import { isGone, workerPoolRef } from '@torpor/contracts'
import { placeReplicas } from '@torpor/state-machines'
import type { Context } from '../context.ts'
import { systemCommand } from '../entities/system-command.ts'
import { askNode } from './ask-node.ts'

/** Gives the replicas of a pool to nodes, and tells each node which of them it shall have. */
export async function placeWorkers(context: Context, pool: WorkerPool): Promise<void> {
  const workers = placeReplicas(pool, context.capacities.all(), context.capacities.mayReturn)
  if (JSON.stringify(workers) === JSON.stringify(pool.workers)) return
  await context.host.submit(systemCommand(context, workerPoolRef(pool.name), 'PlaceWorkers', { workers }))
}

/** Tells a node about pools of owned shards whenever what it says it has is not what the log says. */
export async function correctWorkers(context: Context, capacity: NodeCapacity): Promise<void> {
  const poolsThere = new Set(capacity.workers.map(({ workerPool }) => workerPool))
  for (const pool of poolsHere(context)) {
    poolsThere.delete(pool.name)
    const wanted = pool.workers.filter(({ node }) => node === capacity.node).map(({ worker }) => worker)
    const there = capacity.workers.filter(({ workerPool }) => workerPool === pool.name)
    if (
      sameNames(
        wanted,
        there.map(({ worker }) => worker),
      )
    )
      continue
    await askNode(context, capacity.node, 'SetWorkers', {
      workerPool: pool.name,
      workers: wanted,
      spec: pool.spec,
    })
  }
  for (const name of poolsThere) await removeWorkers(context, capacity.node, name)
}

async function removeWorkers(context: Context, node: string, workerPool: string): Promise<void> {
  const ref = workerPoolRef(workerPool)
  if (!context.host.owns(context.host.shardOf(ref))) return
  const state = context.host.peek(ref)
  if (state !== undefined && !isGone(state)) return
  await askNode(context, node, 'SetWorkers', { workerPool, workers: [], spec: {} })
}

/** Pools whose shards are owned here. */
export function poolsHere(context: Context): readonly WorkerPool[] {
  return context.host
    .ownedShards()
    .flatMap((shard) =>
      [...context.host.entities(shard)].flatMap(({ ref, state }) =>
        ref.kind === 'worker-pool' && !isGone(state) ? [state as WorkerPool] : [],
      ),
    )
}

const sameNames = (left: readonly string[], right: readonly string[]): boolean =>
  left.length === right.length && left.every((name) => right.includes(name))
