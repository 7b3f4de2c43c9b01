/** Durable directories as one file of a snapshot. */
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { fault } from '@torpor/contracts'
import { packFolder, unpackFolder } from './tar-archive.ts'

const VOLUMES_FILE = 'volumes.tar'

export const packVolumes = (slotFolder: string, folder: string): Promise<void> =>
  packFolder(join(slotFolder, 'volumes'), join(folder, VOLUMES_FILE))

/** Fills the directories of a slot; does nothing when the snapshot has none. Faults SNAPSHOT_DAMAGED. */
export async function unpackVolumes(folder: string, slotFolder: string): Promise<void> {
  const file = join(folder, VOLUMES_FILE)
  if (!existsSync(file)) return
  await unpackFolder(file, join(slotFolder, 'volumes')).catch((cause: unknown) => {
    throw fault('SNAPSHOT_DAMAGED', file, { detail: String(cause), cause })
  })
}
