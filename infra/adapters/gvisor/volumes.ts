/** Durable directories as one file of a snapshot: a tar that keeps owners, modes, links and holes. */
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { fault } from '@torpor/contracts'
import { GVISOR_LIMITS } from './options.ts'
import { runCommand } from './run-command.ts'

export const VOLUMES_FILE = 'volumes.tar'

export async function packVolumes(slotFolder: string, folder: string): Promise<void> {
  const file = join(folder, VOLUMES_FILE)
  await tar(['-C', join(slotFolder, 'volumes'), '-cSf', file, '--numeric-owner', '.'], file)
}

/** Fills the directories of a slot; does nothing when the snapshot has none. */
export async function unpackVolumes(folder: string, slotFolder: string): Promise<void> {
  const file = join(folder, VOLUMES_FILE)
  if (!existsSync(file)) return
  await tar(['-C', join(slotFolder, 'volumes'), '-xpSf', file, '--numeric-owner'], file)
}

async function tar(args: readonly string[], file: string): Promise<void> {
  const { code, stderr } = await runCommand('tar', args, { timeoutMs: GVISOR_LIMITS.pagesTimeoutMs })
  if (code !== 0)
    throw fault('INTERNAL', file, { detail: `tar ended with ${code}: ${stderr.trim().slice(0, 300)}` })
}
