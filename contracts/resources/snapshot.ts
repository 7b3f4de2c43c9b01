import { z } from 'zod'

export const snapshotFidelitySchema = z.enum([
  'SNAPSHOT_FIDELITY_MEMORY',
  'SNAPSHOT_FIDELITY_ROOTFS',
  'SNAPSHOT_FIDELITY_VOLUMES',
])
export const snapshotOwnerSchema = z.enum(['SNAPSHOT_OWNER_ACTOR', 'SNAPSHOT_OWNER_TAG'])
export const snapshotStorageStateSchema = z.enum([
  'SNAPSHOT_STORAGE_STATE_PENDING',
  'SNAPSHOT_STORAGE_STATE_COMPLETED',
])

export const sandboxRuntimeSchema = z.strictObject({
  sandboxClass: z.enum(['gvisor', 'microvm']),
  version: z.strictObject({ attributes: z.array(z.strictObject({ key: z.string(), value: z.string() })) }),
})
export type SandboxRuntimeVersion = z.infer<typeof sandboxRuntimeSchema>

/** One row of an actor's `status.snapshots`: where a generation is and who owns it. */
export const snapshotSchema = z.strictObject({
  generation: z.int().min(1),
  owner: snapshotOwnerSchema,
  fidelity: snapshotFidelitySchema,
  actorTemplateUid: z.string(),
  /** Node that holds a copy; empty when none does. */
  locality: z.string(),
  storageState: snapshotStorageStateSchema,
  /** Key of the manifest in the object store (it lies there once COMPLETED), also its folder. */
  uri: z.string(),
  /**
   * `blake3:<hex>` of the manifest's exact bytes: what a copy must match, wherever it lies. Absent while the only copy is the
   * one on its node (PENDING): its node compares it with what it knows of it. COMPLETED rows have it.
   */
  manifestDigest: z.string().optional(),
  /** Of the files together. */
  bytes: z.int().min(0),
  sandboxRuntime: sandboxRuntimeSchema,
  createTimeMs: z.int(),
  attempts: z.int().default(0),
  nextAttemptAtMs: z.int().optional(),
  lastError: z.string().optional(),
})
export type Snapshot = z.infer<typeof snapshotSchema>

/** What a manifest says of one file of a generation. */
export const manifestFileSchema = z.strictObject({
  path: z.string(),
  bytes: z.int().min(0),
  /** `blake3:<hex>` of the file. */
  digest: z.string(),
})

/**
 * The manifest of a generation: written last, so that its presence is the commit mark, on the node and in the object store.
 * File name `manifest.json`, beside the files that it names.
 */
export const manifestSchema = z.strictObject({
  formatVersion: z.literal(1),
  actorUid: z.string(),
  generation: z.int().min(1),
  fidelity: snapshotFidelitySchema,
  actorTemplateUid: z.string(),
  sandboxRuntime: sandboxRuntimeSchema,
  createTimeMs: z.int(),
  files: z.array(manifestFileSchema),
})
export type Manifest = z.infer<typeof manifestSchema>

/** Folder of a generation in the object store: `actors/<uid>/<generation>`. */
export const snapshotUri = (actorUid: string, generation: number): string =>
  `actors/${actorUid}/${String(generation).padStart(10, '0')}`
