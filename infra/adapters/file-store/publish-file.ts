import { link, mkdir, rename, rm, rmdir } from 'node:fs/promises'
import { dirname } from 'node:path'
import { LIMITS } from '@torpor/contracts'
import { isMissing, isNotEmpty, isTaken } from './file-errors.ts'
import { sync } from './staging.ts'

/** Gives a staged file its name, whatever had it before. */
export const publish = (staged: string, target: string): Promise<void> =>
  inFolder(dirname(target), () => rename(staged, target))

/** Gives a staged file its name if nothing has it: `link` is one step of the file system. */
export async function publishNew(staged: string, target: string): Promise<boolean> {
  try {
    await inFolder(dirname(target), () => link(staged, target))
    return true
  } catch (cause) {
    if (isTaken(cause)) return false
    throw cause
  }
}

/** Removes a file, and the folders above it that are empty then. */
export async function removeFile(root: string, path: string): Promise<void> {
  await rm(path, { force: true }).catch((cause: unknown) => {
    if (!isMissing(cause)) throw cause
  })
  for (let folder = dirname(path); folder !== root && folder.startsWith(root); folder = dirname(folder)) {
    try {
      await rmdir(folder)
    } catch (cause) {
      if (isNotEmpty(cause)) return
      if (!isMissing(cause)) throw cause
    }
  }
}

/** A remover may take the folder away between its making and its use; then it is made again, `storeAttemptsMax` times. */
async function inFolder(folder: string, work: () => Promise<void>): Promise<void> {
  for (let attempt = 1; ; attempt += 1) {
    try {
      const made = await mkdir(folder, { recursive: true })
      await work()
      return await syncUpTo(folder, made === undefined ? folder : dirname(made))
    } catch (cause) {
      if (!isMissing(cause) || attempt >= LIMITS.storeAttemptsMax) throw cause
    }
  }
}

/** The new entry, and each folder that was made for it, must outlast a crash: that is the parent's doing. */
async function syncUpTo(folder: string, last: string): Promise<void> {
  for (let current = folder; ; current = dirname(current)) {
    await sync(current).catch((cause: unknown) => {
      // The object was removed again meanwhile, and its folder with it: nothing is left that must outlast anything.
      if (!isMissing(cause)) throw cause
    })
    if (current === last || current === dirname(current)) return
  }
}
