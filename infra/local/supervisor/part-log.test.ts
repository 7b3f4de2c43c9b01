import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { expect, test } from 'vitest'
import { PartLog } from './part-log.ts'

test('a log that is full moves aside, and one predecessor is kept', () => {
  const folder = mkdtempSync(path.join(tmpdir(), 'torpor-log-'))
  const log = new PartLog(folder, 'router', 10)
  for (const line of ['first line\n', 'second line\n', 'third line\n']) log.append(line)
  log.close()
  expect(readFileSync(log.file, 'utf8')).toBe('third line\n')
  expect(readFileSync(`${log.file}.1`, 'utf8')).toBe('second line\n')
  rmSync(folder, { recursive: true })
})

test('a log goes on where an earlier run ended', () => {
  const folder = mkdtempSync(path.join(tmpdir(), 'torpor-log-'))
  for (const line of ['yesterday\n', 'today\n']) {
    const log = new PartLog(folder, 'router')
    log.append(line)
    log.close()
  }
  expect(readFileSync(path.join(folder, 'router.log'), 'utf8')).toBe('yesterday\ntoday\n')
  rmSync(folder, { recursive: true })
})
