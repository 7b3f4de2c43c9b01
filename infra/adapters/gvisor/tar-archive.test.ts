import { execFileSync } from 'node:child_process'
import {
  chmod,
  link,
  lstat,
  mkdir,
  mkdtemp,
  readFile,
  readlink,
  rm,
  symlink,
  truncate,
  utimes,
  writeFile,
} from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { packFolder, unpackFolder } from './tar-archive.ts'
import { decodePax, encodeTarHeader, TAR_BLOCK } from './tar-header.ts'

let work: string
const source = (...path: readonly string[]): string => join(work, 'source', ...path)
const target = (...path: readonly string[]): string => join(work, 'target', ...path)

beforeEach(async () => {
  work = await mkdtemp(join(tmpdir(), 'tar-archive-'))
  await mkdir(source())
  await mkdir(target())
})
afterEach(() => rm(work, { recursive: true, force: true }))

const roundTrip = async (): Promise<void> => {
  await packFolder(source(), join(work, 'all.tar'))
  await unpackFolder(join(work, 'all.tar'), target())
}

test('files, folders, links, modes and times come back as they were', async () => {
  await mkdir(source('data/empty'), { recursive: true })
  await writeFile(source('data/count'), '7')
  await writeFile(source('data/large'), Buffer.alloc(3 * 1024 * 1024 + 1, 5))
  await chmod(source('data/count'), 0o4640)
  await utimes(source('data/count'), 1_000_000, 1_000_000)
  await link(source('data/count'), source('data/same'))
  await symlink('../elsewhere', source('data/pointer'))
  await utimes(source('data'), 2_000_000, 2_000_000)
  await roundTrip()
  const count = await lstat(target('data/count'))
  expect([count.mode & 0o7777, count.mtimeMs, count.nlink]).toEqual([0o4640, 1_000_000_000, 2])
  expect(await readFile(target('data/same'), 'utf8')).toBe('7')
  expect((await readFile(target('data/large'))).equals(Buffer.alloc(3 * 1024 * 1024 + 1, 5))).toBe(true)
  expect(await readlink(target('data/pointer'))).toBe('../elsewhere')
  expect((await lstat(target('data/empty'))).isDirectory()).toBe(true)
  expect((await lstat(target('data'))).mtimeMs).toBe(2_000_000_000)
})

test('names too long for a plain header come back, and the usual tar reads them', async () => {
  const long = `${'a'.repeat(90)}/${'ö'.repeat(60)}.txt`
  await mkdir(source('a'.repeat(90)))
  await writeFile(source(long), 'x')
  await symlink('t'.repeat(200), source('far'))
  await roundTrip()
  expect(await readFile(target(long), 'utf8')).toBe('x')
  expect(await readlink(target('far'))).toBe('t'.repeat(200))
  const listed = execFileSync('tar', ['-tf', join(work, 'all.tar'), '--quoting-style=literal'], {
    encoding: 'utf8',
  })
  expect(listed.split('\n')).toContain(long)
})

test('an archive that is cut short is refused', async () => {
  await writeFile(source('file'), 'content')
  await packFolder(source(), join(work, 'all.tar'))
  await truncate(join(work, 'all.tar'), TAR_BLOCK + 3)
  await expect(unpackFolder(join(work, 'all.tar'), target())).rejects.toThrow('cut short')
})

test.each(['../out', '/out', 'pointer/out'])(
  'a path that leads out of the folder is refused: %s',
  async (path) => {
    const entry = { mode: 0o644, uid: 0, gid: 0, size: 0, mtimeS: 0, link: '' }
    const bytes = [
      encodeTarHeader({ ...entry, path: 'pointer', kind: 'symlink', link: work }),
      encodeTarHeader({ ...entry, path, kind: 'file' }),
      Buffer.alloc(2 * TAR_BLOCK),
    ]
    await writeFile(join(work, 'evil.tar'), Buffer.concat(bytes))
    await expect(unpackFolder(join(work, 'evil.tar'), target())).rejects.toThrow('leads out of it')
  },
)

test('a damaged header is refused', async () => {
  await writeFile(source('file'), 'content')
  await packFolder(source(), join(work, 'all.tar'))
  const bytes = await readFile(join(work, 'all.tar'))
  bytes[3] = (bytes[3] ?? 0) ^ 1
  await writeFile(join(work, 'all.tar'), bytes)
  await expect(unpackFolder(join(work, 'all.tar'), target())).rejects.toThrow('damaged')
})

test('a pax record whose length counts its own digits is read', () => {
  expect(decodePax(Buffer.from('12 path=abc\n'))).toEqual(new Map([['path', 'abc']]))
})
