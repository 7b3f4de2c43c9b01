import { readFile, rename, writeFile } from 'node:fs/promises'
import { join } from 'node:path'

/**
 * What the demo knows of its actor: the uid, the count of the last answered request, and the key of the one that is being
 * sent. Kept on disk, so that the next run, or one that was killed, can tell whether every answered request was kept.
 */
export type Ledger = {
  readonly actorUid: string
  /** Absent when the actor went back to an older snapshot: its next answer tells. */
  readonly answered?: number
  readonly pendingKey?: string
}

const path = (folder: string): string => join(folder, 'story.json')

export async function readLedger(folder: string): Promise<Ledger | undefined> {
  try {
    return JSON.parse(await readFile(path(folder), 'utf8')) as Ledger
  } catch {
    return undefined
  }
}

export async function writeLedger(folder: string, ledger: Ledger): Promise<void> {
  await writeFile(`${path(folder)}.new`, JSON.stringify(ledger))
  await rename(`${path(folder)}.new`, path(folder))
}
