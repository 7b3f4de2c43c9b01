import { copyFile, mkdir, readdir, readFile, rename, rm, stat, writeFile, link } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { fault } from '@torpor/contracts'
import type { SnapshotStore } from '@torpor/contracts'

export type SimulatedStore = SnapshotStore & {
  /** While true every call fails, as a store that cannot be reached. */
  setDown(down: boolean): void
}

/** An object store in a folder of this process: a key is a file, and is seen whole or not at all. */
export function createSimulatedStore(root: string): SimulatedStore {
  let down = false
  let serial = 0
  const place = async (key: string, write: (path: string) => Promise<void>): Promise<string> => {
    reach(key)
    const path = join(root, 'partial', String(++serial))
    await mkdir(dirname(path), { recursive: true })
    await mkdir(dirname(join(root, 'keys', key)), { recursive: true })
    await write(path)
    return path
  }
  const reach = (key: string): void => {
    if (down) throw fault('STORE_UNAVAILABLE', key)
  }
  const read = async <Result>(key: string, work: (path: string) => Promise<Result>): Promise<Result> => {
    reach(key)
    return work(join(root, 'keys', key)).catch((cause: NodeJS.ErrnoException) => {
      throw fault(cause.code === 'ENOENT' ? 'SNAPSHOT_UNKNOWN' : 'STORE_UNAVAILABLE', key, { cause })
    })
  }
  return {
    setDown(value) {
      down = value
    },
    async putFile(key, path) {
      await rename(await place(key, (partial) => copyFile(path, partial)), join(root, 'keys', key))
    },
    async putBytes(key, bytes, options) {
      const partial = await place(key, (path) => writeFile(path, bytes))
      if (options?.ifAbsent !== true) return rename(partial, join(root, 'keys', key)).then(() => true)
      const isNew = await link(partial, join(root, 'keys', key)).then(
        () => true,
        () => false,
      )
      await rm(partial)
      return isNew
    },
    getBytes: (key) => read(key, (path) => readFile(path)),
    getFile: (key, path) => read(key, (source) => copyFile(source, path)),
    async exists(key) {
      reach(key)
      return stat(join(root, 'keys', key)).then(
        () => true,
        () => false,
      )
    },
    async *list(prefix) {
      reach(prefix)
      const entries = await readdir(join(root, 'keys'), { recursive: true, withFileTypes: true }).catch(
        () => [],
      )
      const keys = entries
        .filter((entry) => entry.isFile())
        .map((entry) => join(entry.parentPath, entry.name))
      yield* keys
        .map((path) => path.slice(join(root, 'keys').length + 1))
        .filter((key) => key.startsWith(prefix))
        .toSorted()
    },
    async remove(key) {
      reach(key)
      await rm(join(root, 'keys', key), { force: true })
    },
  }
}
