import { LIMITS } from '@torpor/contracts'
import type { WorkerCapacity, WorkerPoolSpec } from '@torpor/contracts'
import type { Booking } from '@torpor/state-machines'

/** A worker that this node has: a share of the node that a pool's actors book. */
export type Worker = { readonly worker: string; readonly workerPool: string; readonly spec: WorkerPoolSpec }

/** What the actors of a worker take together, from admission to end. */
export type Booked = Booking & { readonly actors: number }

export const NOTHING_BOOKED: Booked = { cpuMilli: 0, memoryMib: 0, actors: 0 }

export const addBooking = (booked: Booked, booking: Booking): Booked => ({
  cpuMilli: booked.cpuMilli + booking.cpuMilli,
  memoryMib: booked.memoryMib + booking.memoryMib,
  actors: booked.actors + 1,
})

/** A worker as the node publishes it and as it admits by it: what can be booked is its limits times its overcommit. */
export function capacityOf({ worker, workerPool, spec }: Worker, booked: Booked): WorkerCapacity {
  const { template, sandboxClasses, maxActors, overcommit } = spec
  const { limits } = template.resources
  const bookableMib = Math.max(0, limits.memory - LIMITS.workerMemoryReserveMib) * overcommit
  return {
    worker,
    workerPool,
    sandboxClass: sandboxClasses[0]?.name ?? 'gvisor',
    labels: template.labels,
    cpuMilli: Math.floor(limits.cpu * overcommit),
    memoryMib: Math.floor(bookableMib) + LIMITS.workerMemoryReserveMib,
    maxActors,
    bookedCpuMilli: booked.cpuMilli,
    bookedMemoryMib: booked.memoryMib,
    actors: booked.actors,
  }
}
