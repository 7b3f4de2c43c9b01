import { readdirSync, rmSync } from 'node:fs'
import path from 'node:path'
import { clearMachine } from './clear-machine.ts'
import { lockDataFolder } from './data-lock.ts'
import { endOrphans } from './run-records.ts'

/**
 * Empties a data folder, for `--fresh` and `--remove`: what a killed run left running in it, sandboxes
 * too, is ended first.
 * @throws DataFolderBusy where a supervisor uses it
 */
export async function removeData(folder: string): Promise<void> {
  const lock = lockDataFolder(folder)
  await endOrphans(path.join(folder, 'run'))
  await clearMachine(path.resolve(folder))
  for (const name of readdirSync(folder)) {
    if (name !== 'lock') rmSync(path.join(folder, name), { recursive: true, force: true })
  }
  lock.release()
}
