import { mkdir, rename, rm } from 'node:fs/promises'
import { dirname } from 'node:path'
import { fault, refusalOf } from '@torpor/contracts'
import type { Snapshot, SnapshotStore } from '@torpor/contracts'
import type { CheckedCopies } from './checked-copies.ts'
import type { Digests } from './digests.ts'
import { download } from './download.ts'
import type { SnapshotFolders } from './folders.ts'
import { parseSnapshotUri } from './folders.ts'
import type { SealedManifest } from './manifest.ts'
import { damageOf, readSealed } from './manifest.ts'
import type { NodeCopies, SealedCopy } from './node-copies.ts'
import { linkCopy } from './node-copies.ts'
import type { Seals } from './seals.ts'
import type { UnsealedImage } from './unsealed.ts'

/** A generation on this node's disk. `checked`: every byte was just compared with the manifest. */
export type Obtained = (SealedManifest | UnsealedImage) & {
  readonly folder: string
  readonly checked: boolean
}

/** Brings generations to the node's disk, each one once however many ask for it. */
export interface Obtainer {
  /** Faults: SNAPSHOT_UNKNOWN (no copy on the node, none in the store), SNAPSHOT_DAMAGED, STORE_UNAVAILABLE. */
  obtain(actorUid: string, snapshot: Snapshot): Promise<Obtained>
  /**
   * Compares every byte with the manifest, unless this agent did that, or wrote the copy, and nothing changed since; one
   * without a manifest gets it first. A damaged copy is removed, and its damage told.
   */
  verify(actorUid: string, snapshot: Snapshot, obtained: Obtained): Promise<string | undefined>
}

type World = {
  readonly folders: SnapshotFolders
  readonly copies: NodeCopies
  readonly seals: Seals
  readonly store: SnapshotStore
  readonly digests: Digests
  readonly checked: CheckedCopies
}

export function createObtainer(world: World): Obtainer {
  const flights = new Map<string, Promise<Obtained>>()
  const single = (key: string, fetch: () => Promise<Obtained>): Promise<Obtained> => {
    const flying = flights.get(key) ?? fetch().finally(() => flights.delete(key))
    flights.set(key, flying)
    return flying
  }
  return {
    obtain(actorUid, snapshot) {
      if (snapshot.owner === 'SNAPSHOT_OWNER_TAG')
        return single(snapshot.uri, () => obtainGolden(world, snapshot))
      return single(`${actorUid}/${snapshot.generation}`, () => obtainOwn(world, actorUid, snapshot))
    },
    async verify(actorUid, snapshot, obtained) {
      const { folder, manifest } = obtained
      const identity = await world.checked.identify(folder, manifest.files)
      if (identity !== undefined && world.checked.isUnchanged(folder, identity)) return undefined
      const damage =
        obtained.digest === undefined
          ? await sealOrDamage(world, actorUid, snapshot.generation)
          : await damageOf(folder, obtained.manifest, world.digests)
      if (damage === undefined && identity !== undefined) world.checked.remember(folder, identity)
      if (damage === undefined) return undefined
      if (snapshot.owner === 'SNAPSHOT_OWNER_TAG') await rm(folder, { recursive: true, force: true })
      else await world.copies.drop(actorUid, snapshot.generation)
      return damage
    },
  }
}

async function obtainOwn(world: World, actorUid: string, snapshot: Snapshot): Promise<Obtained> {
  const copy = await copyHere(world, actorUid, snapshot)
  if (copy !== undefined) return { ...copy, checked: false }
  const staging = world.folders.staging(`${actorUid}-${snapshot.generation}-fetch`)
  const sealed = await fetchInto(world, snapshot, staging)
  return { ...(await world.copies.adopt(staging, sealed)), checked: true }
}

/** The copy on this node. Once the log has the digest of the generation, only one with that digest. */
async function copyHere(world: World, actorUid: string, { generation, manifestDigest }: Snapshot) {
  if (manifestDigest === undefined) return world.copies.find(actorUid, generation)
  const copy = await world.seals.sealed(actorUid, generation).catch(() => undefined)
  return copy?.digest === manifestDigest ? copy : undefined
}

async function sealOrDamage(world: World, actorUid: string, generation: number): Promise<string | undefined> {
  try {
    await world.seals.sealed(actorUid, generation)
    return undefined
  } catch (error) {
    const { code, message } = refusalOf(error)
    if (code !== 'SNAPSHOT_DAMAGED') throw error
    return message
  }
}

/** A golden generation lies in a folder of its own, which all actors that begin with it share. */
async function obtainGolden(world: World, snapshot: Snapshot): Promise<Obtained> {
  const { manifestDigest } = snapshot
  if (manifestDigest === undefined)
    throw fault('SNAPSHOT_UNKNOWN', snapshot.uri, { detail: 'it is not COMPLETED' })
  const folder = world.folders.golden(manifestDigest)
  const here = await readSealed(folder)
  if (here?.digest === manifestDigest) return { ...here, folder, checked: false }
  const staging = world.folders.staging(`golden-${manifestDigest.replace(/^blake3:/, '')}`)
  const taken = parseSnapshotUri(snapshot.uri)
  const original = taken === undefined ? undefined : world.copies.find(taken.actorUid, taken.generation)
  const linked: SealedCopy | undefined =
    original?.digest === undefined || original.digest !== manifestDigest ? undefined : original
  if (linked !== undefined) {
    await rm(staging, { recursive: true, force: true })
    await linkCopy(linked, staging)
  }
  const sealed = linked ?? (await fetchInto(world, snapshot, staging))
  await rm(folder, { recursive: true, force: true })
  await mkdir(dirname(folder), { recursive: true })
  await rename(staging, folder)
  const { manifest, digest, bytes } = sealed
  return { manifest, digest, bytes, folder, checked: linked === undefined }
}

async function fetchInto(world: World, snapshot: Snapshot, staging: string): Promise<SealedManifest> {
  const { uri, manifestDigest, storageState } = snapshot
  if (storageState !== 'SNAPSHOT_STORAGE_STATE_COMPLETED' || manifestDigest === undefined)
    throw fault('SNAPSHOT_UNKNOWN', uri, { detail: 'its only copy is not on this node' })
  return download(world.store, world.digests, { uri, manifestDigest }, staging)
}
