import { appendFile, mkdtemp, readFile, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { openAssignmentLog } from './assignment-log.ts'

let folder: string
let path: string
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'torpor-assignments-'))
  path = join(folder, 'assignments.ndjson')
})
afterEach(() => rm(folder, { recursive: true, force: true }))

const assignment = (actorUid: string, sequence: number) => ({ actorUid, epoch: 1, sequence })
const terminated = { type: 'Terminated', data: { epoch: 1, sequence: 2 } } as const

test('the highest assignment and its outcome are there after a restart', async () => {
  const log = await openAssignmentLog(path, 10)
  await Promise.all([1, 2, 3].map((sequence) => log.raise(assignment('a', sequence))))
  await log.raise(assignment('b', 2))
  await log.end(assignment('b', 2), terminated)
  await log.close()
  const again = await openAssignmentLog(path, 10)
  expect(again.known('a')).toEqual({ assignment: assignment('a', 3) })
  expect(again.known('b')).toEqual({ assignment: assignment('b', 2), outcome: terminated })
  await again.close()
})

test('a lower assignment is not written, and does not end a higher one', async () => {
  const log = await openAssignmentLog(path, 10)
  await log.raise(assignment('a', 3))
  await log.raise(assignment('a', 2))
  await log.end(assignment('a', 2), terminated)
  expect(log.known('a')).toEqual({ assignment: assignment('a', 3) })
  await log.close()
})

test('a torn last line is left out, and what follows it is readable', async () => {
  const log = await openAssignmentLog(path, 10)
  await log.raise(assignment('a', 3))
  await log.close()
  await appendFile(path, '{"assignment":{"actorUid":"b"')
  const again = await openAssignmentLog(path, 10)
  await again.raise(assignment('c', 1))
  await again.close()
  const third = await openAssignmentLog(path, 10)
  expect(['a', 'b', 'c'].map((uid) => third.known(uid)?.assignment.sequence)).toEqual([3, undefined, 1])
  await third.close()
})

test('opening compacts the file and keeps the latest actors only', async () => {
  const log = await openAssignmentLog(path, 10)
  for (const uid of ['a', 'b', 'c', 'a']) await log.raise(assignment(uid, uid === 'a' ? 9 : 1))
  await log.close()
  const again = await openAssignmentLog(path, 2)
  await again.close()
  expect((await readFile(path, 'utf8')).trim().split('\n')).toHaveLength(2)
  expect(again.known('a')).toBeUndefined()
  expect(again.known('c')).toBeDefined()
})
