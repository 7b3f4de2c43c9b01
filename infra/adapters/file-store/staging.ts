import { randomUUID } from 'node:crypto'
import { constants } from 'node:fs'
import { copyFile, mkdir, open, readdir, rm, stat } from 'node:fs/promises'
import { join } from 'node:path'
import { LIMITS } from '@torpor/contracts'

/** Files that are being written, on the same file system as the store. No key can begin like this folder. */
export const STAGING_FOLDER = '.staging'

export type Staging = {
  /** Copies a file, by sharing its blocks where the file system can, and syncs it. */
  copy(source: string): Promise<string>
  write(bytes: Uint8Array): Promise<string>
}

export async function openStaging(folder: string): Promise<Staging> {
  const root = join(folder, STAGING_FOLDER)
  await mkdir(root, { recursive: true })
  await removeLeftovers(root)
  const fresh = (): string => join(root, randomUUID())
  return {
    async copy(source) {
      const path = fresh()
      try {
        await copyFile(source, path, constants.COPYFILE_EXCL | constants.COPYFILE_FICLONE)
        await sync(path)
        return path
      } catch (cause) {
        await rm(path, { force: true })
        throw cause
      }
    },
    async write(bytes) {
      const path = fresh()
      const file = await open(path, 'wx')
      try {
        await file.writeFile(bytes)
        await file.sync()
        return path
      } catch (cause) {
        await rm(path, { force: true })
        throw cause
      } finally {
        await file.close()
      }
    },
  }
}

/** Makes the content of a file or the entries of a folder outlast a crash of the machine. */
export async function sync(path: string): Promise<void> {
  const file = await open(path, 'r')
  try {
    await file.sync()
  } finally {
    await file.close()
  }
}

/** Others may be writing here just now: only what is old was left behind. */
async function removeLeftovers(root: string): Promise<void> {
  for (const name of await readdir(root)) {
    const path = join(root, name)
    const { mtimeMs } = await stat(path).catch(() => ({ mtimeMs: Number.POSITIVE_INFINITY }))
    if (Date.now() - mtimeMs > LIMITS.storeLeftoverMs) await rm(path, { force: true })
  }
}
