import type { Booking } from '@torpor/state-machines'

/** The cgroup of each worker, below which its sandboxes are made, so that a pool never takes more than its limits. */
export interface WorkerCgroups {
  /** Path relative to the hierarchy's root, as drivers want it; empty where there are no cgroups. */
  pathOf(worker: string): string
  /** Makes the worker's cgroup, or sets its limits anew. */
  ensure(worker: string, limits: Booking): Promise<void>
  /** Removes it; one that is not there is no error. */
  remove(worker: string): Promise<void>
  /** Removes what is empty, the node's own too; what holds sandboxes stays. */
  leave(workers: readonly string[]): Promise<void>
}

/** For simulations and for machines where sandboxes are not held by cgroups. */
export const noCgroups: WorkerCgroups = {
  pathOf: () => '',
  ensure: async () => undefined,
  remove: async () => undefined,
  leave: async () => undefined,
}
