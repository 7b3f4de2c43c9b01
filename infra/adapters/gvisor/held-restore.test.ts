import { execFileSync } from 'node:child_process'
import { mkdtempSync, readlinkSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { holdPipe, holdRestore, imageLink } from './held-restore.ts'
import { runCommand } from './run-command.ts'

let folder: string
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'tp-held-'))
})
afterEach(() => rmSync(folder, { recursive: true, force: true }))

/** A command that logs into the pipe before it does its work, which is to name the folder that it was given. */
const held = () => {
  const script = 'echo begun > "$1"; readlink "$2"'
  const args = ['-c', script, 'sh', holdPipe(folder), imageLink(folder)]
  return holdRestore(folder, (signal) => runCommand('/bin/sh', args, { signal }))
}

test('what is held goes on when it is released, with the generation that it is given then', async () => {
  execFileSync('mkfifo', [holdPipe(folder)])
  const restore = held()
  expect(await restore.release('/generation/7')).toMatchObject({ code: 0, stdout: '/generation/7\n' })
  expect(readlinkSync(imageLink(folder))).toBe('/generation/7')
})

test('what is dropped ends, and never ran', async () => {
  execFileSync('mkfifo', [holdPipe(folder)])
  const restore = held()
  restore.drop()
  expect(await restore.release('/generation/7')).toMatchObject({ code: 137, stdout: '' })
})

test('nothing is started where nothing would hold it', () => {
  expect(held).toThrow('is no named pipe')
  writeFileSync(holdPipe(folder), '')
  expect(held).toThrow('is no named pipe')
})
