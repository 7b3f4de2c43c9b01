import { constants } from 'node:fs'
import { access, copyFile, readFile, rename, rm, stat } from 'node:fs/promises'
import { join } from 'node:path'
import type { SnapshotStore } from '@torpor/contracts'
import { checkStoreKey, fault } from '@torpor/contracts'
import { isMissing } from './file-errors.ts'
import { listKeys } from './list-keys.ts'
import type { Staging } from './staging.ts'
import { openStaging, STAGING_FOLDER } from './staging.ts'
import { publish, publishNew, removeFile } from './publish-file.ts'

/**
 * Opens a snapshot store on a folder, which is made when it is not there.
 * An object is a file of its own name. It is written aside, synced, and then given its name in one step, so that it is
 * seen whole or not at all, after a crash of the machine too. Files are shared block by block where the file system can.
 * @example const store = await openFileStore('/var/lib/torpor/snapshots')
 */
export async function openFileStore(folder: string): Promise<SnapshotStore> {
  const staging = await openStaging(folder)
  const pathOf = (key: string): string => {
    checkStoreKey(key)
    if (key.split('/')[0] === STAGING_FOLDER) {
      throw fault('INTERNAL', key, { detail: 'cannot be the key of an object here' })
    }
    return join(folder, key)
  }
  return {
    putFile: (key, path, signal) => putFile(staging, key, pathOf, path, signal),
    putBytes: (key, bytes, options) => putBytes(staging, key, pathOf, bytes, options?.ifAbsent === true),
    getBytes: async (key) => new Uint8Array(await reading(key, async () => readFile(pathOf(key)))),
    getFile: (key, path, signal) => getFile(key, pathOf, path, signal),
    exists: (key) => exists(key, pathOf),
    list: (prefix) => listKeys(folder, prefix),
    remove: (key) => guarded(key, async () => removeFile(folder, pathOf(key))),
  }
}

type PathOf = (key: string) => string

async function putFile(
  staging: Staging,
  key: string,
  pathOf: PathOf,
  source: string,
  signal?: AbortSignal,
): Promise<void> {
  const target = pathOf(key)
  signal?.throwIfAborted()
  // Before the store is touched, so that a source that is not there is not taken for a store that fails.
  await access(source, constants.R_OK)
  const staged = await guarded(key, () => staging.copy(source))
  try {
    signal?.throwIfAborted()
    await guarded(key, () => publish(staged, target))
  } finally {
    await rm(staged, { force: true })
  }
}

async function putBytes(
  staging: Staging,
  key: string,
  pathOf: PathOf,
  bytes: Uint8Array,
  ifAbsent: boolean,
): Promise<boolean> {
  const target = pathOf(key)
  return guarded(key, async () => {
    const staged = await staging.write(bytes)
    try {
      if (ifAbsent) return await publishNew(staged, target)
      await publish(staged, target)
      return true
    } finally {
      await rm(staged, { force: true })
    }
  })
}

async function getFile(key: string, pathOf: PathOf, target: string, signal?: AbortSignal): Promise<void> {
  const source = pathOf(key)
  const partial = `${target}.partial`
  try {
    signal?.throwIfAborted()
    await reading(key, () => copyFile(source, partial, constants.COPYFILE_FICLONE))
    signal?.throwIfAborted()
    await rename(partial, target)
  } catch (cause) {
    await rm(partial, { force: true })
    throw cause
  }
}

async function exists(key: string, pathOf: PathOf): Promise<boolean> {
  const path = pathOf(key)
  return guarded(key, async () => {
    try {
      return (await stat(path)).isFile()
    } catch (cause) {
      if (isMissing(cause)) return false
      throw cause
    }
  })
}

async function reading<Result>(key: string, work: () => Promise<Result>): Promise<Result> {
  return guarded(key, async () => {
    try {
      return await work()
    } catch (cause) {
      throw isMissing(cause) ? fault('SNAPSHOT_UNKNOWN', key, { cause }) : cause
    }
  })
}

/** What the file system says no to is a store that is not available. */
async function guarded<Result>(key: string, work: () => Promise<Result>): Promise<Result> {
  try {
    return await work()
  } catch (cause) {
    if (!(cause instanceof Error) || !('syscall' in cause)) throw cause
    throw fault('STORE_UNAVAILABLE', key, { detail: cause.message, cause })
  }
}
