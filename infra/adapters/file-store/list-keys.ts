import type { Dirent } from 'node:fs'
import { readdir } from 'node:fs/promises'
import { join } from 'node:path'
import { fault } from '@torpor/contracts'
import { isMissing } from './file-errors.ts'
import { STAGING_FOLDER } from './staging.ts'

/** Keys with the prefix in the order of their bytes. Holds the names of one folder per level at a time. */
export async function* listKeys(folder: string, prefix: string): AsyncGenerator<string> {
  yield* walk(folder, '', prefix)
}

async function* walk(root: string, above: string, prefix: string): AsyncGenerator<string> {
  for (const name of await namesIn(join(root, above))) {
    const key = above + name
    if (key.endsWith('/')) {
      if (key.startsWith(prefix) || prefix.startsWith(key)) yield* walk(root, key, prefix)
    } else if (key.startsWith(prefix)) {
      yield key
    }
  }
}

/** Folders end with `/` here: `b-2` comes before `b/1`, and `b0` after it. */
async function namesIn(folder: string): Promise<readonly string[]> {
  const entries = await entriesOf(folder)
  return entries
    .filter(({ name }) => name !== STAGING_FOLDER)
    .map((entry) => (entry.isDirectory() ? `${entry.name}/` : entry.name))
    .sort((one, other) => Buffer.compare(Buffer.from(one), Buffer.from(other)))
}

async function entriesOf(folder: string): Promise<readonly Dirent[]> {
  try {
    return await readdir(folder, { withFileTypes: true })
  } catch (cause) {
    // A folder may be removed while another is being listed.
    if (isMissing(cause)) return []
    throw fault('STORE_UNAVAILABLE', folder, { cause })
  }
}
