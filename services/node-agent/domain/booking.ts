import { LIMITS } from '@torpor/contracts'
import type { ActorTemplateSpec, WorkerCapacity, WorkerPoolSpec } from '@torpor/contracts'

/** A worker that this node has: a share of the node that a pool's actors book. */
export type Worker = { readonly worker: string; readonly workerPool: string; readonly spec: WorkerPoolSpec }

/** What one actor takes of its worker from admission to end. */
export type Booking = { readonly cpuMilli: number; readonly memoryMib: number }

export type Booked = Booking & { readonly actors: number }

export const NOTHING_BOOKED: Booked = { cpuMilli: 0, memoryMib: 0, actors: 0 }

export const bookingOf = (spec: ActorTemplateSpec): Booking => ({
  cpuMilli: spec.resources.limits.cpu,
  memoryMib: spec.resources.limits.memory,
})

export const addBooking = (booked: Booked, booking: Booking): Booked => ({
  cpuMilli: booked.cpuMilli + booking.cpuMilli,
  memoryMib: booked.memoryMib + booking.memoryMib,
  actors: booked.actors + 1,
})

/** What a worker can be booked for in all: its limits, less what the worker itself needs, times its overcommit. */
export function bookable(worker: Worker): Booking & { readonly maxActors: number } {
  const { limits } = worker.spec.template.resources
  return {
    cpuMilli: Math.floor(limits.cpu * worker.spec.overcommit),
    memoryMib: Math.floor(
      Math.max(0, limits.memory - LIMITS.workerMemoryReserveMib) * worker.spec.overcommit,
    ),
    maxActors: worker.spec.maxActors,
  }
}

/** Which bound keeps `booking` off the worker; undefined when there is room. */
export function lacking(worker: Worker, booked: Booked, booking: Booking): string | undefined {
  const room = bookable(worker)
  const after = addBooking(booked, booking)
  if (after.actors > room.maxActors) return `actors: ${booked.actors} of ${room.maxActors}`
  if (after.cpuMilli > room.cpuMilli) return `cpu: ${after.cpuMilli}m of ${room.cpuMilli}m`
  if (after.memoryMib > room.memoryMib) return `memory: ${after.memoryMib}Mi of ${room.memoryMib}Mi`
  return undefined
}

/** A worker as the node publishes it. */
export function capacityOf(worker: Worker, booked: Booked): WorkerCapacity {
  const { template, sandboxClasses, maxActors } = worker.spec
  const { limits } = template.resources
  return {
    worker: worker.worker,
    workerPool: worker.workerPool,
    sandboxClass: sandboxClasses[0]?.name ?? 'gvisor',
    labels: template.labels,
    cpuMilli: Math.floor(limits.cpu * worker.spec.overcommit),
    memoryMib: bookable(worker).memoryMib + LIMITS.workerMemoryReserveMib,
    maxActors,
    bookedCpuMilli: booked.cpuMilli,
    bookedMemoryMib: booked.memoryMib,
    actors: booked.actors,
  }
}
