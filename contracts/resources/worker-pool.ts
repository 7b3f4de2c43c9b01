import { z } from 'zod'
import { LIMITS } from '../limits.ts'
import { sandboxClassSchema } from './actor-template.ts'
import { bytesQuantity, cpuQuantity } from './quantities.ts'

/** What a user writes under `spec` of a WorkerPool. */
export const workerPoolSpecSchema = z.strictObject({
  replicas: z.int().min(0).max(LIMITS.workersPerPoolMax).default(1),
  sandboxClasses: z.array(z.strictObject({ name: sandboxClassSchema })).length(1),
  maxActors: z.int().min(1).max(LIMITS.maxActorsPerWorker).default(LIMITS.maxActorsPerWorker),
  overcommit: z.number().min(1).max(100).default(1),
  template: z
    .strictObject({
      labels: z.record(z.string(), z.string()).default({}),
      resources: z
        .strictObject({
          limits: z.strictObject({ cpu: cpuQuantity.prefault('1'), memory: bytesQuantity.prefault('1Gi') }),
        })
        .prefault({ limits: {} }),
    })
    .prefault({}),
})
export type WorkerPoolSpec = z.infer<typeof workerPoolSpecSchema>

/** One worker of a pool, placed on a node. Its name is `<pool>-<index>`. */
export type WorkerPlacement = { readonly worker: string; readonly node: string }

/** The state of one pool in the log. */
export type WorkerPool = {
  readonly uid: string
  readonly name: string
  readonly version: number
  readonly createTimeMs: number
  readonly spec: WorkerPoolSpec
  readonly workers: readonly WorkerPlacement[]
}
