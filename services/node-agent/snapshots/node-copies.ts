import { link, mkdir, readdir, rename, rm } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import type { SnapshotFolders } from './folders.ts'
import type { SealedManifest } from './manifest.ts'
import { readSealed } from './manifest.ts'
import type { UnsealedImage } from './unsealed.ts'
import { readUnsealed } from './unsealed.ts'

type Where = {
  readonly actorUid: string
  readonly generation: number
  readonly folder: string
}
export type SealedCopy = SealedManifest & Where
export type UnsealedCopy = UnsealedImage & Where
/** Without `digest`: its manifest is not written yet. */
export type NodeCopy = SealedCopy | UnsealedCopy

/** The generations of this node's actors that lie on its disk, whole ones only. */
export interface NodeCopies {
  find(actorUid: string, generation: number): NodeCopy | undefined
  all(): readonly NodeCopy[]
  /** Moves a folder with its commit mark into its place. */
  adopt(staging: string, sealed: SealedManifest): Promise<SealedCopy>
  adopt(staging: string, image: UnsealedImage): Promise<UnsealedCopy>
  /** The manifest of a copy was written; one that was dropped meanwhile stays so. */
  seal(copy: UnsealedCopy, sealed: SealedManifest): SealedCopy
  /** Forgets and removes; what is not there is no error. */
  drop(actorUid: string, generation: number): Promise<void>
}

/** Reads what is there; folders without a valid manifest or mark are leftovers and go. */
export async function openNodeCopies(folders: SnapshotFolders): Promise<NodeCopies> {
  const copies = new Map<string, NodeCopy>()
  const root = join(folders.root, 'snapshots')
  await mkdir(root, { recursive: true })
  for (const actorUid of await readdir(root)) {
    for (const name of await readdir(join(root, actorUid))) {
      const folder = join(root, actorUid, name)
      const whole = (await readSealed(folder)) ?? (await readUnsealed(folder))
      if (whole === undefined) await rm(folder, { recursive: true, force: true })
      else copies.set(`${actorUid}/${name}`, { ...whole, actorUid, generation: Number(name), folder })
    }
  }
  const drop = async (actorUid: string, generation: number): Promise<void> => {
    copies.delete(`${actorUid}/${generation}`)
    await rm(folders.generation(actorUid, generation), { recursive: true, force: true })
  }
  const adopt = async <Content extends SealedManifest | UnsealedImage>(
    staging: string,
    content: Content,
  ): Promise<Content & Where> => {
    const { actorUid, generation } = content.manifest
    const folder = folders.generation(actorUid, generation)
    await rename(staging, folder).catch(async () => {
      await drop(actorUid, generation)
      await mkdir(dirname(folder), { recursive: true })
      await rename(staging, folder)
    })
    const copy = { ...content, actorUid, generation, folder }
    copies.set(`${actorUid}/${generation}`, copy)
    return copy
  }
  return {
    find: (actorUid, generation) => copies.get(`${actorUid}/${generation}`),
    all: () => [...copies.values()],
    drop,
    adopt,
    seal(copy, sealed) {
      const { actorUid, generation, folder } = copy
      const key = `${actorUid}/${generation}`
      const known = { ...sealed, actorUid, generation, folder }
      if (copies.get(key) === copy) copies.set(key, known)
      return known
    },
  }
}

/** The same files under another folder, without copying a byte: either may go and the other stays. */
export async function linkCopy(copy: SealedCopy, staging: string): Promise<void> {
  await mkdir(staging, { recursive: true })
  for (const { path } of copy.manifest.files) {
    await mkdir(dirname(join(staging, path)), { recursive: true })
    await link(join(copy.folder, path), join(staging, path))
  }
  await link(join(copy.folder, 'manifest.json'), join(staging, 'manifest.json'))
}
