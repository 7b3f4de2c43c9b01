import { mkdirSync, readFileSync, readdirSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import path from 'node:path'
import { endProcess } from './end-process.ts'
import { isAlive, type ProcessIdentity } from './process-identity.ts'

/** `<data>/run/<part>.json`: which processes belong to this data folder, for whoever comes after a killed supervisor. */

export function writeRunRecord(folder: string, part: string, identity: ProcessIdentity): void {
  mkdirSync(folder, { recursive: true })
  const file = path.join(folder, `${part}.json`)
  writeFileSync(`${file}.new`, JSON.stringify(identity))
  renameSync(`${file}.new`, file)
}

export function removeRunRecord(folder: string, part: string): void {
  rmSync(path.join(folder, `${part}.json`), { force: true })
}

export function readRunRecords(folder: string): ReadonlyMap<string, ProcessIdentity> {
  const records = new Map<string, ProcessIdentity>()
  for (const name of listRecords(folder)) {
    const record = parseRecord(path.join(folder, name))
    if (record) records.set(path.basename(name, '.json'), record)
  }
  return records
}

/**
 * Ends what an earlier supervisor left running, exactly those processes.
 * @returns the names of the parts that were ended
 */
export async function endOrphans(folder: string): Promise<readonly string[]> {
  const orphans = [...readRunRecords(folder)].filter(([, identity]) => isAlive(identity))
  await Promise.all(orphans.map(([, identity]) => endProcess(identity)))
  for (const name of listRecords(folder)) rmSync(path.join(folder, name), { force: true })
  return orphans.map(([part]) => part)
}

function listRecords(folder: string): readonly string[] {
  try {
    return readdirSync(folder).filter((name) => name.endsWith('.json'))
  } catch {
    return []
  }
}

function parseRecord(file: string): ProcessIdentity | undefined {
  try {
    const { pid, startedAt } = JSON.parse(readFileSync(file, 'utf8')) as Partial<ProcessIdentity>
    return typeof pid === 'number' && typeof startedAt === 'string' ? { pid, startedAt } : undefined
  } catch {
    return undefined
  }
}
