import { link, mkdir, readdir, rename, rm } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import type { SnapshotFolders } from './folders.ts'
import type { SealedManifest } from './manifest.ts'
import { readSealed } from './manifest.ts'

export type NodeCopy = SealedManifest & {
  readonly actorUid: string
  readonly generation: number
  readonly folder: string
}

/** The generations of this node's actors that lie on its disk, whole ones only. */
export interface NodeCopies {
  find(actorUid: string, generation: number): NodeCopy | undefined
  all(): readonly NodeCopy[]
  /** Moves a sealed folder into its place. */
  adopt(staging: string, sealed: SealedManifest): Promise<NodeCopy>
  /** Forgets and removes; what is not there is no error. */
  drop(actorUid: string, generation: number): Promise<void>
}

/** Reads what is there; folders without a valid manifest are leftovers and go. */
export async function openNodeCopies(folders: SnapshotFolders): Promise<NodeCopies> {
  const copies = new Map<string, NodeCopy>()
  const root = join(folders.root, 'snapshots')
  await mkdir(root, { recursive: true })
  for (const actorUid of await readdir(root)) {
    for (const name of await readdir(join(root, actorUid))) {
      const folder = join(root, actorUid, name)
      const sealed = await readSealed(folder)
      if (sealed === undefined) await rm(folder, { recursive: true, force: true })
      else copies.set(`${actorUid}/${name}`, { ...sealed, actorUid, generation: Number(name), folder })
    }
  }
  const drop = async (actorUid: string, generation: number): Promise<void> => {
    copies.delete(`${actorUid}/${generation}`)
    await rm(folders.generation(actorUid, generation), { recursive: true, force: true })
  }
  return {
    find: (actorUid, generation) => copies.get(`${actorUid}/${generation}`),
    all: () => [...copies.values()],
    drop,
    async adopt(staging, sealed) {
      const { actorUid, generation } = sealed.manifest
      const folder = folders.generation(actorUid, generation)
      await drop(actorUid, generation)
      await mkdir(dirname(folder), { recursive: true })
      await rename(staging, folder)
      const copy = { ...sealed, actorUid, generation, folder }
      copies.set(`${actorUid}/${generation}`, copy)
      return copy
    },
  }
}

/** The same files under another folder, without copying a byte: either may go and the other stays. */
export async function linkCopy(copy: NodeCopy, staging: string): Promise<void> {
  await mkdir(staging, { recursive: true })
  for (const { path } of copy.manifest.files) {
    await mkdir(dirname(join(staging, path)), { recursive: true })
    await link(join(copy.folder, path), join(staging, path))
  }
  await link(join(copy.folder, 'manifest.json'), join(staging, 'manifest.json'))
}
