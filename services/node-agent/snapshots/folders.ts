import { join } from 'node:path'

/** Where generations lie on a node. */
export type SnapshotFolders = {
  readonly root: string
  generation(actorUid: string, generation: number): string
  golden(manifestDigest: string): string
  /** Where a generation grows until it is whole; removed at start, but for a checkpoint that had ended. */
  staging(label: string): string
}

export const MANIFEST_FILE = 'manifest.json'
/** Commit mark of a generation on this node until its manifest is written. */
export const UNSEALED_FILE = 'unsealed.json'
/** Written by the process that checkpoints, last, so that it tells even when the agent has died meanwhile. */
export const CHECKPOINT_COMPLETE_FILE = 'checkpoint-complete'

export const snapshotFolders = (dataDir: string): SnapshotFolders => ({
  root: dataDir,
  generation: (actorUid, generation) => join(dataDir, 'snapshots', actorUid, String(generation)),
  golden: (manifestDigest) => join(dataDir, 'goldens', manifestDigest.replace(/^blake3:/, '')),
  staging: (label) => join(dataDir, 'staging', label),
})

/** Whose generation an object store folder holds: the reverse of `snapshotUri`. */
export function parseSnapshotUri(uri: string): { actorUid: string; generation: number } | undefined {
  const match = /^actors\/([^/]+)\/(\d+)$/.exec(uri)
  return match === null ? undefined : { actorUid: match[1] ?? '', generation: Number(match[2]) }
}
