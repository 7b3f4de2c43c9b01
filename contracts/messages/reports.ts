import { z } from 'zod'
import { snapshotSchema } from '../resources/snapshot.ts'

const assignment = { epoch: z.int(), sequence: z.int() }
const phasesMs = z.record(z.string(), z.number())
const reason = { code: z.string(), message: z.string() }

/**
 * What a node says happened, on `torpor.v1.report.<node>.<atespace>.<actor>`: requests, sent again until answered, which
 * they are once the event is committed. Execution reports carry the assignment and change nothing when it is old; storage
 * reports carry the generation, which is never used twice; the one that tells of a second copy carries the manifest digest.
 */
export const REPORTS = {
  Restored: z.strictObject({ ...assignment, phasesMs }),
  /** `ran`: an instruction of the actor may have run. */
  RestoreFailed: z.strictObject({ ...assignment, ...reason, ran: z.boolean() }),
  /** The image is whole on the node's disk and the sandbox has ended. Its digests come with Uploaded. */
  Checkpointed: z.strictObject({ ...assignment, snapshot: snapshotSchema, phasesMs }),
  /** Drain refused, no disk, or the checkpoint failed and the sandbox lives. */
  CheckpointAbandoned: z.strictObject({ ...assignment, generation: z.int(), ...reason }),
  Exited: z.strictObject({ ...assignment, ...reason, exitCode: z.int().optional() }),
  Terminated: z.strictObject({ ...assignment }),
  Uploaded: z.strictObject({
    generation: z.int(),
    manifestDigest: z.string(),
    uri: z.string(),
    bytes: z.int(),
    elapsedMs: z.number(),
  }),
  /** `manifestDigest`: the one that was asked for. */
  UploadFailed: z.strictObject({ generation: z.int(), manifestDigest: z.string().optional(), ...reason }),
  SnapshotDropped: z.strictObject({ generation: z.int() }),
  SnapshotCollected: z.strictObject({ generation: z.int() }),
  /** A copy that should be there is gone or does not match its manifest. */
  SnapshotLost: z.strictObject({ generation: z.int(), ...reason }),
  /** The gate saw no request for the idle timeout. */
  IdleTimedOut: z.strictObject({ ...assignment, idleMs: z.int() }),
} as const

export type ReportName = keyof typeof REPORTS
export type ReportData<Name extends ReportName> = z.output<(typeof REPORTS)[Name]>
export type DomainReport = {
  [Name in ReportName]: { readonly type: Name; readonly data: ReportData<Name> }
}[ReportName]

/** A report on the wire. `id` is a UUIDv7: sent again with the same id, it is applied once. */
export const reportEnvelopeSchema = z.strictObject({
  specversion: z.literal('1.0'),
  id: z.string(),
  type: z.string(),
  source: z.string(),
  time: z.string(),
  node: z.string(),
  incarnation: z.string(),
  actoruid: z.string(),
  data: z.unknown(),
})
export type ReportEnvelope = z.infer<typeof reportEnvelopeSchema>

/** How a node joins and stays: on `torpor.v1.rpc._.<node>.JoinNode` and `.RenewNodeLease`. */
export const renewNodeLeaseSchema = z.strictObject({ incarnation: z.string(), workersDigest: z.string() })
/** `rejoin`: the control plane does not know this incarnation; send JoinNode. */
export type RenewNodeLeaseResult = { readonly grantedMs: number; readonly rejoin: boolean }
