import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { LIMITS, fault } from '@torpor/contracts'
import type { SnapshotStore } from '@torpor/contracts'
import { forEachAtOnce } from '../ordering/for-each-at-once.ts'
import type { Digests } from './digests.ts'
import { digestOf } from './digests.ts'
import { MANIFEST_FILE } from './folders.ts'
import { damageOf } from './manifest.ts'
import type { SealedCopy } from './node-copies.ts'

/**
 * Copies a generation into the store: files side by side, the manifest last and only if there is none, which commits it.
 * Doing it again changes nothing. Faults: STORE_UNAVAILABLE, SNAPSHOT_DAMAGED (here, or another manifest lies there).
 */
export async function upload(
  store: SnapshotStore,
  digests: Digests,
  copy: SealedCopy,
  uri: string,
  signal: AbortSignal,
): Promise<void> {
  const manifestKey = `${uri}/${MANIFEST_FILE}`
  if (await store.exists(manifestKey)) return expectSame(store, manifestKey, copy.digest)
  const damage = await damageOf(copy.folder, copy.manifest, digests)
  if (damage !== undefined) throw fault('SNAPSHOT_DAMAGED', uri, { detail: damage })
  await forEachAtOnce(copy.manifest.files, LIMITS.filesAtOnceMax, async ({ path }) => {
    signal.throwIfAborted()
    await store.putFile(`${uri}/${path}`, join(copy.folder, path), signal)
  })
  signal.throwIfAborted()
  const bytes = await readFile(join(copy.folder, MANIFEST_FILE))
  const written = await store.putBytes(manifestKey, bytes, { ifAbsent: true })
  if (!written) await expectSame(store, manifestKey, copy.digest)
}

async function expectSame(store: SnapshotStore, key: string, digest: string): Promise<void> {
  if (digestOf(await store.getBytes(key)) === digest) return
  throw fault('SNAPSHOT_DAMAGED', key, { detail: `the store holds another manifest than ${digest}` })
}

/** Removes a generation from the store: the manifest first, so that what is left of it never counts. */
export async function collect(store: SnapshotStore, uri: string): Promise<void> {
  await store.remove(`${uri}/${MANIFEST_FILE}`)
  const keys = await Array.fromAsync(store.list(`${uri}/`))
  await forEachAtOnce(keys, LIMITS.filesAtOnceMax, (key) => store.remove(key))
}
