import { mkdir, rm, writeFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { LIMITS, fault } from '@torpor/contracts'
import type { SnapshotStore } from '@torpor/contracts'
import { forEachAtOnce } from '../ordering/for-each-at-once.ts'
import type { Digests } from './digests.ts'
import { MANIFEST_FILE } from './folders.ts'
import type { SealedManifest } from './manifest.ts'
import { damageOf, parseSealed } from './manifest.ts'

/**
 * Fetches the generation at `uri` into the new folder `staging` and checks every byte.
 * Faults: STORE_UNAVAILABLE, SNAPSHOT_UNKNOWN, SNAPSHOT_DAMAGED.
 */
export async function download(
  store: SnapshotStore,
  digests: Digests,
  wanted: { readonly uri: string; readonly manifestDigest: string },
  staging: string,
): Promise<SealedManifest> {
  const bytes = await store.getBytes(`${wanted.uri}/${MANIFEST_FILE}`)
  const sealed = parseSealed(bytes)
  if (sealed === undefined || sealed.digest !== wanted.manifestDigest) {
    throw fault('SNAPSHOT_DAMAGED', wanted.uri, { detail: `its manifest is not ${wanted.manifestDigest}` })
  }
  await rm(staging, { recursive: true, force: true })
  await mkdir(staging, { recursive: true })
  await forEachAtOnce(sealed.manifest.files, LIMITS.filesAtOnceMax, async ({ path }) => {
    await mkdir(dirname(join(staging, path)), { recursive: true })
    await store.getFile(`${wanted.uri}/${path}`, join(staging, path))
  })
  const damage = await damageOf(staging, sealed.manifest, digests)
  if (damage !== undefined) throw fault('SNAPSHOT_DAMAGED', wanted.uri, { detail: damage })
  await writeFile(join(staging, MANIFEST_FILE), bytes)
  return sealed
}
