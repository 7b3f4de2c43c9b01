import { z } from 'zod'
import { actorTemplateSpecSchema } from '../resources/actor-template.ts'
import { snapshotSchema } from '../resources/snapshot.ts'
import { workerPoolSpecSchema } from '../resources/worker-pool.ts'

const actor = { actorUid: z.string(), atespace: z.string(), name: z.string() }
const assignment = { epoch: z.int(), sequence: z.int() }

/**
 * What a control plane asks of a node, on `torpor.v1.node.<node>.<verb>`. Each is a request, sent again until answered,
 * and idempotent. The reply says whether it was taken; the outcome comes as a report.
 */
export const NODE_COMMANDS = {
  /**
   * May this actor run here? Admits with a time-to-live or refuses with a reason; begins to fetch, decrypt and check what
   * the start will need. Runs no instruction of the actor.
   */
  Prepare: z.strictObject({
    ...actor,
    prepareId: z.string(),
    worker: z.string(),
    spec: z.custom<z.infer<typeof actorTemplateSpecSchema>>(),
    templateUid: z.string(),
    /** Absent: start from the image. */
    snapshot: snapshotSchema.optional(),
    ttlMs: z.int(),
  }),
  /** The decision is in the log: run. `prepareId` names the admission; a node that lost it admits anew or reports. */
  Go: z.strictObject({
    ...actor,
    ...assignment,
    prepareId: z.string(),
    worker: z.string(),
    spec: z.custom<z.infer<typeof actorTemplateSpecSchema>>(),
    templateUid: z.string(),
    snapshot: snapshotSchema.optional(),
  }),
  /** Gives an admission back that was not used. */
  Abandon: z.strictObject({ ...actor, prepareId: z.string() }),
  /** Close the gate, drain, checkpoint into `generation`, end the sandbox. */
  Checkpoint: z.strictObject({
    ...actor,
    ...assignment,
    generation: z.int(),
    templateUid: z.string(),
    drain: z.enum(['drain', 'refuse', 'force']),
    drainMs: z.int(),
  }),
  /** End the sandbox without keeping anything. Answered with the report `terminated`, also when there is none. */
  Terminate: z.strictObject({ ...actor, ...assignment }),
  /** Copy a generation from the node to the object store, manifest last. `manifestDigest`: what the log knows, if it does. */
  Upload: z.strictObject({
    ...actor,
    generation: z.int(),
    manifestDigest: z.string().optional(),
    uri: z.string(),
  }),
  /** Remove the node's copy of a generation (it is COMPLETED, or nothing refers to it any more). */
  DropSnapshot: z.strictObject({ ...actor, generation: z.int() }),
  /** Remove a generation from the object store, and the node's copy if there is one; nothing refers to it any more. */
  CollectSnapshot: z.strictObject({ ...actor, generation: z.int(), uri: z.string() }),
  /** What the node has: sandboxes, admissions, snapshots, of one actor or of all. */
  Inventory: z.strictObject({ actorUid: z.string().optional() }),
  /** The workers of one pool that this node shall have, all of them: makes the missing, removes the surplus that is empty. */
  SetWorkers: z.strictObject({
    workerPool: z.string(),
    workers: z.array(z.string()),
    spec: z.custom<z.infer<typeof workerPoolSpecSchema>>(),
  }),
  /** The last lines that the actor's process wrote. */
  Logs: z.strictObject({ ...actor, linesMax: z.int().min(1).max(10_000) }),
} as const

export type NodeCommandName = keyof typeof NODE_COMMANDS
export type NodeCommandData<Name extends NodeCommandName> = z.output<(typeof NODE_COMMANDS)[Name]>

/** Result of Prepare. */
export type Admission = {
  readonly prepareId: string
  readonly node: string
  readonly worker: string
  readonly gateAddress: string
}

/** Result of Inventory: what the log is compared with. */
export type Inventory = {
  readonly node: string
  readonly incarnation: string
  readonly sandboxes: readonly InventorySandbox[]
  readonly prepares: readonly { readonly actorUid: string; readonly prepareId: string }[]
  readonly snapshots: readonly InventorySnapshot[]
}

export type InventorySandbox = {
  readonly actorUid: string
  readonly atespace: string
  readonly name: string
  readonly epoch: number
  readonly sequence: number
  readonly phase: 'starting' | 'running' | 'checkpointing' | 'ending'
}

export type InventorySnapshot = {
  readonly actorUid: string
  readonly generation: number
  /** Absent until the copy is sealed. */
  readonly manifestDigest?: string
  readonly bytes: number
  readonly uploading: boolean
}
