import { open, readFile } from 'node:fs/promises'
import type { FileHandle } from 'node:fs/promises'
import type { Assignment, DomainReport } from '@torpor/contracts'
import { judgeAssignment } from '../domain/assignments.ts'
import type { KnownAssignment } from '../domain/assignments.ts'
import { replaceFileDurably } from './durable-file.ts'

/**
 * The highest assignment of each actor, on disk before anything acts on it.
 * Invariant: what `known` answers after a restart is never lower than what a resolved `raise` was given.
 */
export interface AssignmentLog {
  known(actorUid: string): KnownAssignment | undefined
  /** In force for `known` at once; resolves when it is on disk. */
  raise(assignment: Assignment): Promise<void>
  /** How the assignment ended on this node; changes nothing when a higher one is in force. */
  end(assignment: Assignment, outcome: DomainReport): Promise<void>
  close(): Promise<void>
}

const LINES_BEFORE_COMPACTION = 10_000

/** Opens the append-only file at `path`, compacted; keeps `entriesMax` actors, the latest ones. */
export async function openAssignmentLog(path: string, entriesMax: number): Promise<AssignmentLog> {
  const entries = parseLines(await readFile(path, 'utf8').catch(() => ''))
  let file: FileHandle
  let lines = 0
  let waiting: { readonly line: string; readonly done: PromiseWithResolvers<void> }[] = []
  let flushing: Promise<void> | undefined

  const compact = async (): Promise<void> => {
    for (const uid of [...entries.keys()].slice(0, Math.max(0, entries.size - entriesMax)))
      entries.delete(uid)
    await replaceFileDurably(path, [...entries.values()].map(lineOf).join(''))
    lines = entries.size
    file = await open(path, 'a')
  }
  const flush = async (): Promise<void> => {
    while (waiting.length > 0) {
      const batch = waiting
      waiting = []
      try {
        await file.appendFile(batch.map(({ line }) => line).join(''))
        await file.datasync()
        for (const { done } of batch) done.resolve()
        lines += batch.length
        if (lines > 2 * entries.size + LINES_BEFORE_COMPACTION) {
          await file.close()
          await compact()
        }
      } catch (error) {
        for (const { done } of batch) done.reject(error)
      }
    }
    flushing = undefined
  }
  const put = (entry: KnownAssignment): Promise<void> => {
    const { actorUid } = entry.assignment
    entries.delete(actorUid)
    entries.set(actorUid, entry)
    const done = Promise.withResolvers<void>()
    waiting.push({ line: lineOf(entry), done })
    flushing ??= flush()
    return done.promise
  }

  await compact()
  return {
    known: (actorUid) => entries.get(actorUid),
    raise(assignment) {
      const { actorUid, epoch, sequence } = assignment
      const news = judgeAssignment(entries.get(actorUid), assignment) === 'new'
      return news ? put({ assignment: { actorUid, epoch, sequence } }) : (flushing ?? Promise.resolve())
    },
    async end(assignment, outcome) {
      const known = entries.get(assignment.actorUid)
      if (known === undefined || judgeAssignment(known, assignment) !== 'same') return
      await put({ assignment: known.assignment, outcome })
    },
    async close() {
      await flushing
      await file.close()
    },
  }
}

const lineOf = (entry: KnownAssignment): string => `${JSON.stringify(entry)}\n`

/** What a power cut tore was not waited for by anyone: the rest from there on counts for nothing. */
function parseLines(text: string): Map<string, KnownAssignment> {
  const entries = new Map<string, KnownAssignment>()
  for (const line of text.split('\n').slice(0, -1)) {
    const entry = parseLine(line)
    if (entry === undefined) break
    entries.delete(entry.assignment.actorUid)
    entries.set(entry.assignment.actorUid, entry)
  }
  return entries
}

function parseLine(line: string): KnownAssignment | undefined {
  try {
    return JSON.parse(line) as KnownAssignment
  } catch {
    return undefined
  }
}
