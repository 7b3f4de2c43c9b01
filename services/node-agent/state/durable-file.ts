import { renameSync, writeFileSync } from 'node:fs'
import { open, rename } from 'node:fs/promises'
import { dirname } from 'node:path'

/** Replaces the file at `path` so that a reader sees the old text or the new one, also after a power cut. */
export async function replaceFileDurably(path: string, text: string): Promise<void> {
  const next = `${path}.next`
  const file = await open(next, 'w')
  try {
    await file.writeFile(text)
    await file.datasync()
  } finally {
    await file.close()
  }
  await rename(next, path)
  await syncFolder(dirname(path))
}

/**
 * Replaces the file so that it survives the end of this process, though not of the machine. At once: it stands in the way
 * of wakes, and the turns that an asynchronous write takes cost more than the write. For small files.
 */
export function replaceFile(path: string, text: string): void {
  const next = `${path}.next`
  writeFileSync(next, text)
  renameSync(next, path)
}

/** Makes names that were added to or taken from a folder survive a power cut. */
async function syncFolder(folder: string): Promise<void> {
  const handle = await open(folder, 'r')
  try {
    await handle.sync()
  } finally {
    await handle.close()
  }
}
