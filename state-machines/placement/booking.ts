import type { ActorTemplateSpec, SandboxClass, WorkerCapacity } from '@torpor/contracts'
import { LIMITS } from '@torpor/contracts'

/** Memory that a sandbox takes beside what the actor's limit says, in MiB. */
export const CLASS_OVERHEAD_MIB: Readonly<Record<SandboxClass, number>> = { gvisor: 0, microvm: 8 }

/** What an actor books of its worker while it runs. */
export type Booking = { readonly cpuMilli: number; readonly memoryMib: number }

export const classOf = (spec: Pick<ActorTemplateSpec, 'sandboxClasses'>): SandboxClass =>
  spec.sandboxClasses[0]?.name ?? 'gvisor'

export function bookingOf(spec: Pick<ActorTemplateSpec, 'sandboxClasses' | 'resources'>): Booking {
  const { cpu, memory } = spec.resources.limits
  return { cpuMilli: cpu, memoryMib: memory + CLASS_OVERHEAD_MIB[classOf(spec)] }
}

type Worker = Pick<
  WorkerCapacity,
  'cpuMilli' | 'memoryMib' | 'maxActors' | 'bookedCpuMilli' | 'bookedMemoryMib' | 'actors'
>

/** Memory of a worker that actors can book: all but what the worker itself needs. */
const bookableMib = ({ memoryMib }: Pick<Worker, 'memoryMib'>): number =>
  Math.max(memoryMib - LIMITS.workerMemoryReserveMib, 0)

/**
 * How many actors of one size a worker has room for when it is empty:
 * `min(cpu ÷ actor cpu, (memory − 64 MiB) ÷ actor memory, maxActors)`.
 */
export const actorsPerWorker = (
  worker: Pick<Worker, 'cpuMilli' | 'memoryMib' | 'maxActors'>,
  booking: Booking,
): number =>
  Math.min(
    Math.floor(worker.cpuMilli / booking.cpuMilli),
    Math.floor(bookableMib(worker) / booking.memoryMib),
    worker.maxActors,
  )

/** Which resource is short, or undefined when the worker has room for one more. */
export function shortOf(worker: Worker, booking: Booking): 'cpu' | 'memory' | 'maxActors' | undefined {
  if (worker.bookedCpuMilli + booking.cpuMilli > worker.cpuMilli) return 'cpu'
  if (worker.bookedMemoryMib + booking.memoryMib > bookableMib(worker)) return 'memory'
  return worker.actors + 1 > worker.maxActors ? 'maxActors' : undefined
}

/** Free part of the scarcer resource, 0..1: the more, the better a place for the next. */
export const freeShare = (worker: Worker): number =>
  Math.min(
    1 - worker.bookedCpuMilli / Math.max(worker.cpuMilli, 1),
    1 - worker.bookedMemoryMib / Math.max(bookableMib(worker), 1),
  )
