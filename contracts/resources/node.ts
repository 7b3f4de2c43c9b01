import { z } from 'zod'
import { sandboxRuntimeSchema } from './snapshot.ts'

export const NODE_STATES = [
  'NODE_STATE_JOINED',
  'NODE_STATE_SUSPECT',
  'NODE_STATE_LOST',
  'NODE_STATE_DRAINING',
] as const
export type NodeStateName = (typeof NODE_STATES)[number]

export const nodeSpecSchema = z.strictObject({
  /** `host:port` of the gate, for routers. */
  gateAddress: z.string(),
  cpuMilli: z.int().min(1),
  memoryMib: z.int().min(1),
  sandboxRuntimes: z.array(sandboxRuntimeSchema),
  /** A new one each time the agent starts. */
  incarnation: z.string(),
})
export type NodeSpec = z.infer<typeof nodeSpecSchema>

/** The state of one node in the log. */
export type Node = {
  readonly uid: string
  readonly name: string
  readonly state: NodeStateName
  readonly version: number
  readonly createTimeMs: number
  readonly spec: NodeSpec
}

export const workerCapacitySchema = z.strictObject({
  worker: z.string(),
  workerPool: z.string(),
  sandboxClass: z.enum(['gvisor', 'microvm']),
  labels: z.record(z.string(), z.string()),
  cpuMilli: z.int(),
  memoryMib: z.int(),
  maxActors: z.int(),
  bookedCpuMilli: z.int(),
  bookedMemoryMib: z.int(),
  actors: z.int(),
})
export type WorkerCapacity = z.infer<typeof workerCapacitySchema>

/** What a node says of itself, once a second and after each change. Advisory: the node alone decides what it admits. */
export const nodeCapacitySchema = z.strictObject({
  node: z.string(),
  gateAddress: z.string(),
  timeMs: z.int(),
  draining: z.boolean(),
  sandboxRuntimes: z.array(sandboxRuntimeSchema),
  workers: z.array(workerCapacitySchema),
})
export type NodeCapacity = z.infer<typeof nodeCapacitySchema>
