import type { Bus, WorkerCapacity } from '@torpor/contracts'
import { ALL, LIMITS, nodeCapacitySchema } from '@torpor/contracts'
import type { TorporClient } from '@torpor/sdk'
import { table } from '../output/table.ts'
import type { World } from '../world.ts'

/** Nodes say what they have once in `capacityPublishMs`; who said nothing for this long is shown as UNKNOWN. */
const HEAR_NODES_MS = LIMITS.capacityPublishMs * 2

/** A worker as its pool placed it, with what its node says of it. */
export type WorkerItem = {
  readonly workerPool: string
  readonly worker: string
  readonly node: string
  /** FREE, ASSIGNED, or UNKNOWN when the node said nothing of it. */
  readonly status: 'FREE' | 'ASSIGNED' | 'UNKNOWN'
  readonly capacity?: WorkerCapacity
}

export async function workerItems(
  client: TorporClient,
  bus: Bus,
  world: World,
): Promise<readonly WorkerItem[]> {
  const placed: Omit<WorkerItem, 'status'>[] = []
  for await (const pool of client.listAll('ListWorkerPools', {}, { signal: world.signal })) {
    placed.push(...pool.workers.map((worker) => ({ workerPool: pool.name, ...worker })))
  }
  const nodes = new Set(placed.map(({ node }) => node))
  const heard = await hearNodes(bus, nodes, world)
  return placed.map((item) => {
    const capacity = heard.get(item.worker)
    if (capacity === undefined) return { ...item, status: 'UNKNOWN' }
    return { ...item, status: capacity.actors > 0 ? 'ASSIGNED' : 'FREE', capacity }
  })
}

export const workerTable = (items: readonly WorkerItem[]): string =>
  table(
    ['POOL', 'WORKER', 'NODE', 'STATUS', 'ACTORS', 'CPU', 'MEMORY'],
    items.map(({ workerPool, worker, node, status, capacity }) => [
      workerPool,
      worker,
      node,
      status,
      ...(capacity === undefined
        ? ['-', '-', '-']
        : [
            `${capacity.actors}/${capacity.maxActors}`,
            `${capacity.bookedCpuMilli}/${capacity.cpuMilli}m`,
            `${capacity.bookedMemoryMib}/${capacity.memoryMib}Mi`,
          ]),
    ]),
  )

/** What the nodes say of their workers, by worker; ends when all were heard or the time is over. */
async function hearNodes(
  bus: Bus,
  nodes: Set<string>,
  world: World,
): Promise<ReadonlyMap<string, WorkerCapacity>> {
  const heard = new Map<string, WorkerCapacity>()
  if (nodes.size === 0) return heard
  const { promise, resolve } = Promise.withResolvers<void>()
  const subscription = bus.subscribe(ALL.capacity, ({ data }) => {
    const said = nodeCapacitySchema.safeParse(JSON.parse(new TextDecoder().decode(data)))
    if (!said.success) return
    for (const worker of said.data.workers) heard.set(worker.worker, worker)
    nodes.delete(said.data.node)
    if (nodes.size === 0) resolve()
  })
  const cancel = world.clock.after(HEAR_NODES_MS, resolve)
  await promise
  cancel()
  subscription.unsubscribe()
  return heard
}
