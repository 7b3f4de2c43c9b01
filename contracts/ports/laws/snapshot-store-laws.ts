import { createHash, randomBytes } from 'node:crypto'
import { existsSync } from 'node:fs'
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import type { SnapshotStore } from '../snapshot-store.ts'

/** An empty store, as every law begins with one. */
export type SnapshotStoreUnderLaw = {
  readonly store: SnapshotStore
  close(): Promise<void>
}

const MIB = 1024 * 1024
const SIZES = [0, 1, 5 * MIB + 1, 40 * MIB] as const

const bytesOf = (text: string): Uint8Array => new TextEncoder().encode(text)
const textOf = (bytes: Uint8Array): string => new TextDecoder().decode(bytes)
const digest = (bytes: Uint8Array): string => createHash('sha256').update(bytes).digest('hex')

type Laws = {
  store(): SnapshotStore
  /** A path in a folder of the suite's own. */
  path(name: string): string
  /** A file of so many random bytes. */
  file(name: string, size: number): Promise<{ readonly path: string; readonly digest: string }>
}

/**
 * What every snapshot store must keep; the simulated one and the real ones run the same suite.
 * @example describeSnapshotStoreLaws('a folder', async () => ({ store, close }))
 */
export function describeSnapshotStoreLaws(name: string, make: () => Promise<SnapshotStoreUnderLaw>): void {
  describe(`the laws of a snapshot store: ${name}`, () => {
    let made: SnapshotStoreUnderLaw
    let folder: string
    beforeAll(async () => {
      folder = await mkdtemp(join(tmpdir(), 'torpor-store-laws-'))
    })
    afterAll(() => rm(folder, { recursive: true, force: true }))
    beforeEach(async () => {
      made = await make()
    })
    afterEach(() => made.close())

    const path = (file: string): string => join(folder, file)
    const laws: Laws = {
      store: () => made.store,
      path,
      async file(file, size) {
        const content = randomBytes(size)
        await writeFile(path(file), content)
        return { path: path(file), digest: digest(content) }
      },
    }
    describeExactness(laws)
    describeConditions(laws)
    describeWholeness(laws)
    describeListing(laws)
  })
}

function describeExactness({ store, path, file }: Laws): void {
  test.for(SIZES)('%d bytes come back from a file as they went in', async (size) => {
    const source = await file('source', size)
    await store().putFile('a/b/file', source.path)
    await store().getFile('a/b/file', path('target'))
    expect(digest(await readFile(path('target')))).toBe(source.digest)
    await rm(path('target'))
  })
  test.for([0, 1, 100_000])('%d bytes come back from memory as they went in', async (size) => {
    const content = randomBytes(size)
    expect(await store().putBytes('k', content)).toBe(true)
    expect(digest(await store().getBytes('k'))).toBe(digest(content))
  })
  test('files and bytes are the same objects, and a second put replaces the first', async () => {
    await store().putBytes('k', bytesOf('old and longer'))
    const source = await file('source', 1_000)
    await store().putFile('k', source.path)
    expect(digest(await store().getBytes('k'))).toBe(source.digest)
    await store().putBytes('k', bytesOf('new'))
    await store().getFile('k', path('target'))
    expect(await readFile(path('target'), 'utf8')).toBe('new')
    await rm(path('target'))
  })
  test('a key that is not there is SNAPSHOT_UNKNOWN, and leaves no file', async () => {
    await expect(store().getBytes('none')).rejects.toMatchObject({ code: 'SNAPSHOT_UNKNOWN' })
    await expect(store().getFile('none/at/all', path('target'))).rejects.toMatchObject({
      code: 'SNAPSHOT_UNKNOWN',
    })
    expect(existsSync(path('target'))).toBe(false)
    expect(await store().exists('none')).toBe(false)
  })
  test('a key that leaves the store is refused', async () => {
    for (const key of ['../out', 'a/../../out', '/absolute', '', 'a//b', './a', 'a/', 'a\0b']) {
      await expect(store().putBytes(key, bytesOf('x')), JSON.stringify(key)).rejects.toThrow()
      await expect(store().getBytes(key), JSON.stringify(key)).rejects.toThrow()
      await expect(store().remove(key), JSON.stringify(key)).rejects.toThrow()
    }
  })
  test('keys may hold what names and digests hold', async () => {
    const keys = ['demo/0190-af/00000001/manifest.json', 'shared/sha256=ab12_+.Z', 'a b/ü']
    for (const key of keys) await store().putBytes(key, bytesOf(key))
    for (const key of keys) expect(textOf(await store().getBytes(key))).toBe(key)
  })
}

function describeConditions({ store }: Laws): void {
  test('a conditional put stores a new key, and says so when the key is there', async () => {
    expect(await store().putBytes('m', bytesOf('first'), { ifAbsent: true })).toBe(true)
    expect(await store().putBytes('m', bytesOf('second'), { ifAbsent: true })).toBe(false)
    expect(textOf(await store().getBytes('m'))).toBe('first')
    await store().remove('m')
    expect(await store().putBytes('m', bytesOf('third'), { ifAbsent: true })).toBe(true)
  })
  test('of twenty conditional puts at once one wins, and its bytes are there', async () => {
    for (let round = 0; round < 5; round += 1) {
      const key = `race/${round}`
      const won = await Promise.all(
        Array.from({ length: 20 }, (_, index) =>
          store().putBytes(key, bytesOf(`writer ${index}`), { ifAbsent: true }),
        ),
      )
      expect(won.filter(Boolean)).toHaveLength(1)
      expect(textOf(await store().getBytes(key))).toBe(`writer ${won.indexOf(true)}`)
    }
  })
}

function describeWholeness({ store, path, file }: Laws): void {
  test('a put that is aborted stores all or nothing', async () => {
    const source = await file('source', 20 * MIB)
    for (const turns of [0, 1, 3, 10, 30, 100]) {
      const key = `aborted/${turns}`
      const stored = await abortedAfter(turns, (signal) => store().putFile(key, source.path, signal))
      expect(await store().exists(key)).toBe(stored)
      expect(await keysOf(store(), key)).toEqual(stored ? [key] : [])
      if (stored) expect(digest(await store().getBytes(key))).toBe(source.digest)
    }
  })
  test('an aborted put over an old object leaves the old one whole', async () => {
    const source = await file('source', 20 * MIB)
    await store().putBytes('k', bytesOf('old'))
    const stored = await abortedAfter(0, (signal) => store().putFile('k', source.path, signal))
    expect(stored).toBe(false)
    expect(textOf(await store().getBytes('k'))).toBe('old')
  })
  test('an aborted get leaves no file', async () => {
    const source = await file('source', 20 * MIB)
    await store().putFile('k', source.path)
    const got = await abortedAfter(0, (signal) => store().getFile('k', path('target'), signal))
    expect(got).toBe(false)
    expect(existsSync(path('target'))).toBe(false)
  })
  test('a file that is not there cannot be put, and leaves no object', async () => {
    await expect(store().putFile('k', path('no-such-file'))).rejects.toThrow()
    expect(await store().exists('k')).toBe(false)
  })
  test('who reads while another writes sees one of the writes, whole', async () => {
    const contents = [bytesOf('a'.repeat(300_000)), bytesOf('b'.repeat(200_000))]
    const known = new Set(contents.map(digest))
    const write = async (): Promise<void> => {
      for (let round = 0; round < 10; round += 1)
        await store().putBytes('k', contents[round % 2] ?? bytesOf(''))
    }
    await store().putBytes('k', contents[0] ?? bytesOf(''))
    const writing = write()
    for (let round = 0; round < 20; round += 1) {
      expect(known).toContain(digest(await store().getBytes('k')))
    }
    await writing
  })
}

function describeListing({ store }: Laws): void {
  test('lists all keys with the prefix, in the order of their bytes', async () => {
    const keys = ['a', 'b/1', 'b-2', 'b/10', 'b/2/x', 'b0', 'c/d/e/f', 'B']
    for (const key of keys) await store().putBytes(key, bytesOf(key))
    expect(await keysOf(store(), '')).toEqual(keys.toSorted())
    expect(await keysOf(store(), 'b')).toEqual(['b-2', 'b/1', 'b/10', 'b/2/x', 'b0'])
    expect(await keysOf(store(), 'b/')).toEqual(['b/1', 'b/10', 'b/2/x'])
    expect(await keysOf(store(), 'b/1')).toEqual(['b/1', 'b/10'])
    expect(await keysOf(store(), 'none')).toEqual([])
    expect(await keysOf(store(), 'none/at/all')).toEqual([])
  })
  test('lists more keys than one page holds', async () => {
    const keys = Array.from({ length: 1_100 }, (_, index) => `many/${String(index).padStart(5, '0')}`)
    for (let from = 0; from < keys.length; from += 50) {
      await Promise.all(keys.slice(from, from + 50).map((key) => store().putBytes(key, bytesOf('x'))))
    }
    expect(await keysOf(store(), 'many/')).toEqual(keys)
  })
  test('removes, and a key that is not there is no error', async () => {
    await store().putBytes('a/1', bytesOf('x'))
    await store().putBytes('a/2', bytesOf('x'))
    await store().remove('a/1')
    await store().remove('a/1')
    await store().remove('never/was')
    expect(await keysOf(store(), '')).toEqual(['a/2'])
    await store().remove('a/2')
    expect(await keysOf(store(), '')).toEqual([])
    await store().putBytes('a/1', bytesOf('again'))
    expect(textOf(await store().getBytes('a/1'))).toBe('again')
  })
  test('putting and removing in one place at once loses nothing', async () => {
    const cycle = async (name: string): Promise<void> => {
      for (let round = 0; round < 10; round += 1) {
        await store().putBytes(`busy/deep/${name}`, bytesOf(name))
        await store().remove(`busy/deep/${name}`)
      }
      await store().putBytes(`busy/deep/${name}`, bytesOf(name))
    }
    await Promise.all(['a', 'b', 'c', 'd'].map(cycle))
    expect(await keysOf(store(), 'busy/')).toEqual(['a', 'b', 'c', 'd'].map((name) => `busy/deep/${name}`))
  })
}

/** Aborts after so many turns of the event loop; true when the work was done all the same. */
async function abortedAfter(turns: number, work: (signal: AbortSignal) => Promise<void>): Promise<boolean> {
  const controller = new AbortController()
  const working = work(controller.signal).then(
    () => true,
    () => false,
  )
  for (let turn = 0; turn < turns; turn += 1) await new Promise((resolve) => setImmediate(resolve))
  controller.abort()
  return working
}

async function keysOf(store: SnapshotStore, prefix: string): Promise<string[]> {
  const keys: string[] = []
  for await (const key of store.list(prefix)) keys.push(key)
  return keys
}
