import { linkSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import path from 'node:path'
import { identifyProcess, isAlive, type ProcessIdentity } from './process-identity.ts'

export type DataLock = { readonly release: () => void }

/** Somebody else uses the data folder. */
export class DataFolderBusy extends Error {
  constructor(folder: string, owner: ProcessIdentity) {
    super(`${folder} is in use by process ${owner.pid}: stop it, or choose another folder`)
    this.name = 'DataFolderBusy'
  }
}

/**
 * Takes the data folder for this process; a lock whose owner is dead is taken over.
 * @throws DataFolderBusy where its owner lives
 */
export function lockDataFolder(folder: string, pid: number = process.pid): DataLock {
  mkdirSync(folder, { recursive: true })
  const file = path.join(folder, 'lock')
  const mine = identifyProcess(pid)
  if (!mine) throw new Error(`process ${pid} cannot be identified`)
  const claim = `${file}.${pid}`
  writeFileSync(claim, JSON.stringify(mine))
  try {
    if (!tryToLink(claim, file)) takeOver(folder, file, claim)
  } finally {
    rmSync(claim, { force: true })
  }
  return { release: () => release(file, mine) }
}

/** A link appears whole or not at all, so nobody reads half a lock. */
function tryToLink(claim: string, file: string): boolean {
  try {
    linkSync(claim, file)
    return true
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'EEXIST') return false
    throw error
  }
}

function takeOver(folder: string, file: string, claim: string): void {
  const owner = readOwner(file)
  if (owner && isAlive(owner)) throw new DataFolderBusy(folder, owner)
  rmSync(file, { force: true })
  if (!tryToLink(claim, file)) throw new DataFolderBusy(folder, readOwner(file) ?? { pid: 0, startedAt: '' })
}

/** Only the owner's own lock: somebody else may have taken it over meanwhile. */
function release(file: string, mine: ProcessIdentity): void {
  const owner = readOwner(file)
  if (owner?.pid === mine.pid && owner.startedAt === mine.startedAt) rmSync(file, { force: true })
}

function readOwner(file: string): ProcessIdentity | undefined {
  try {
    return JSON.parse(readFileSync(file, 'utf8')) as ProcessIdentity
  } catch {
    return undefined
  }
}
