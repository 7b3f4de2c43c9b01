import type { NodeCapacity, WorkerPlacement, WorkerPool } from '@torpor/contracts'

/**
 * Where the replicas of a pool shall be: spread evenly over the nodes that have its sandbox class and do not drain. A worker
 * stays where it is while its node stays, so that nothing is moved for symmetry's sake; with no such node a replica waits.
 * Silence is not absence: a node that was not heard keeps its workers as long as `mayReturn` says so, and gets no new ones.
 * @example placeReplicas(pool, capacities) → [{ worker: 'small-0', node: 'n1' }, { worker: 'small-1', node: 'n2' }]
 */
export function placeReplicas(
  pool: Pick<WorkerPool, 'name' | 'spec' | 'workers'>,
  nodes: readonly Pick<NodeCapacity, 'node' | 'draining' | 'sandboxRuntimes'>[],
  mayReturn: (node: string) => boolean = () => false,
): readonly WorkerPlacement[] {
  const wanted = pool.spec.sandboxClasses[0]?.name
  const counts = new Map(
    nodes
      .filter(
        ({ draining, sandboxRuntimes }) =>
          !draining && sandboxRuntimes.some(({ sandboxClass }) => sandboxClass === wanted),
      )
      .map(({ node }) => [node, 0]),
  )
  const heard = new Set(nodes.map(({ node }) => node))
  const stays = (node: string): boolean => counts.has(node) || (!heard.has(node) && mayReturn(node))
  const names = Array.from({ length: pool.spec.replicas }, (_, index) => `${pool.name}-${index}`)
  const staying = new Map(
    pool.workers
      .filter(({ worker, node }) => names.includes(worker) && stays(node))
      .map(({ worker, node }) => [worker, node]),
  )
  for (const node of staying.values()) {
    const count = counts.get(node)
    if (count !== undefined) counts.set(node, count + 1)
  }
  return names.flatMap((worker) => {
    const node = staying.get(worker) ?? emptiest(counts)
    if (node === undefined) return []
    if (!staying.has(worker)) counts.set(node, (counts.get(node) ?? 0) + 1)
    return [{ worker, node }]
  })
}

/** The node with the fewest workers of the pool, by name among equals. */
function emptiest(counts: ReadonlyMap<string, number>): string | undefined {
  const [first] = [...counts].sort(([a, countA], [b, countB]) => countA - countB || (a < b ? -1 : 1))
  return first?.[0]
}
