import type { ActorTemplateSpec, NodeCapacity, Refusal, Snapshot, WorkerCapacity } from '@torpor/contracts'
import { refuse } from '@torpor/contracts'
import { bookingOf, classOf, freeShare, shortOf } from './booking.ts'
import { canRestore } from './compatibility.ts'

export type PlacementRequest = {
  /** Names the actor in a refusal. */
  readonly actorUid?: string
  readonly spec: Pick<ActorTemplateSpec, 'sandboxClasses' | 'resources' | 'workerSelector'>
  /** The newest snapshot; absent: the actor starts from its image. */
  readonly snapshot?: Snapshot
  /** Nodes that the log says are LOST; what they published last counts for nothing. */
  readonly lostNodes?: readonly string[]
}

export type RankedWorker = {
  readonly node: string
  readonly worker: string
  readonly workerPool: string
  readonly gateAddress: string
}

type Candidate = { readonly node: NodeCapacity; readonly worker: WorkerCapacity }

/** A condition that a worker must meet, in the order in which they narrow the choice; the first that leaves none is told. */
type Constraint = { readonly name: string; holds(candidate: Candidate): boolean }

/**
 * Workers that may take the actor, best first: on the node with the newest snapshot, then by free share, then by name. Room
 * is what nodes said last: advisory, the node that is asked decides. A newest snapshot that is not in the object store yet
 * allows its node only.
 * @example rankWorkers(capacities, { spec, snapshot }) → { ranked: [{ node: 'n1', worker: 'small-0', … }] }
 */
export function rankWorkers(
  capacities: readonly NodeCapacity[],
  request: PlacementRequest,
): { readonly ranked: readonly RankedWorker[] } | { readonly refusal: Refusal } {
  const { snapshot, lostNodes = [] } = request
  const onlyNode = onlyNodeOf(snapshot)
  if (onlyNode !== undefined && lostNodes.includes(onlyNode)) {
    const detail = `generation ${snapshot?.generation} is on ${onlyNode} only`
    return { refusal: refuse('SNAPSHOT_ON_LOST_NODE', nameOf(request), detail) }
  }
  let left = capacities
    .filter(({ node }) => !lostNodes.includes(node))
    .flatMap((node) => node.workers.map((worker) => ({ node, worker })))
  for (const constraint of constraintsOf(request, onlyNode)) {
    left = left.filter((candidate) => constraint.holds(candidate))
    if (left.length === 0) {
      return { refusal: refuse('NO_CAPACITY', nameOf(request), `no worker left by: ${constraint.name}`) }
    }
  }
  return { ranked: left.sort(byPreference(snapshot?.locality ?? '')).map(ranked) }
}

/** PENDING: the object store does not have it yet, so only its node can restore it. */
const onlyNodeOf = (snapshot: Snapshot | undefined): string | undefined =>
  snapshot?.storageState === 'SNAPSHOT_STORAGE_STATE_PENDING' ? snapshot.locality : undefined

function constraintsOf(request: PlacementRequest, onlyNode: string | undefined): readonly Constraint[] {
  const { spec, snapshot } = request
  const labels = Object.entries(spec.workerSelector?.matchLabels ?? {})
  const booking = bookingOf(spec)
  const [cpu, memory] = [`${booking.cpuMilli}m CPU`, `${booking.memoryMib} MiB memory`]
  return [
    {
      name: `class ${classOf(spec)}`,
      holds: ({ worker }) => worker.sandboxClass === classOf(spec),
    },
    {
      name: `selector ${labels.map(([key, value]) => `${key}=${value}`).join(',')}`,
      holds: ({ worker }) => labels.every(([key, value]) => worker.labels[key] === value),
    },
    {
      name: `locality, its newest snapshot is on ${onlyNode} only`,
      holds: ({ node }) => onlyNode === undefined || node.node === onlyNode,
    },
    { name: 'draining', holds: ({ node }) => !node.draining },
    {
      name: 'compatibility with the runtime of its snapshot',
      holds: ({ node }) =>
        snapshot === undefined || canRestore(snapshot.sandboxRuntime, node.sandboxRuntimes),
    },
    {
      name: `room for ${cpu}, ${memory}`,
      holds: ({ worker }) => shortOf(worker, booking) === undefined,
    },
  ]
}

const byPreference =
  (newestNode: string) =>
  (a: Candidate, b: Candidate): number =>
    Number(b.node.node === newestNode) - Number(a.node.node === newestNode) ||
    freeShare(b.worker) - freeShare(a.worker) ||
    compareText(a.worker.worker, b.worker.worker) ||
    compareText(a.node.node, b.node.node)

const compareText = (a: string, b: string): number => (a < b ? -1 : Number(a > b))

const ranked = ({ node, worker }: Candidate): RankedWorker => ({
  node: node.node,
  worker: worker.worker,
  workerPool: worker.workerPool,
  gateAddress: node.gateAddress,
})

const nameOf = ({ actorUid, spec }: PlacementRequest): string =>
  actorUid ?? `an actor of class ${classOf(spec)}`
