import { mkdtemp, readdir, rm, utimes, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describeSnapshotStoreLaws } from '@torpor/contracts/laws/snapshot-store-laws'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { openFileStore } from './file-store.ts'

const bytes = (text: string) => new TextEncoder().encode(text)

describeSnapshotStoreLaws('a folder', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'torpor-file-store-'))
  return {
    store: await openFileStore(folder),
    close: () => rm(folder, { recursive: true, force: true }),
  }
})

describe('a snapshot store on a folder', () => {
  let folder: string
  beforeEach(async () => {
    folder = await mkdtemp(join(tmpdir(), 'torpor-file-store-'))
  })
  afterEach(() => rm(folder, { recursive: true, force: true }))

  test('leaves nothing aside after puts that succeed, lose and are aborted', async () => {
    const store = await openFileStore(folder)
    const source = `${folder}.source`
    await writeFile(source, 'content')
    await store.putFile('a/1', source)
    await store.putBytes('a/1', bytes('x'), { ifAbsent: true })
    await expect(store.putFile('a/2', source, AbortSignal.abort())).rejects.toThrow()
    expect(await readdir(join(folder, '.staging'))).toEqual([])
    await rm(source)
  })

  test('what a crash left aside long ago is gone when the store is opened, what is young stays', async () => {
    await openFileStore(folder)
    const old = join(folder, '.staging', 'old')
    await writeFile(old, '')
    await utimes(old, 0, 0)
    await writeFile(join(folder, '.staging', 'young'), '')
    await openFileStore(folder)
    expect(await readdir(join(folder, '.staging'))).toEqual(['young'])
  })

  test('no key reaches what is being written', async () => {
    const store = await openFileStore(folder)
    await expect(store.putBytes('.staging/x', bytes('x'))).rejects.toThrow(/cannot be the key/)
    await expect(store.getBytes('.staging/x')).rejects.toThrow(/cannot be the key/)
  })

  test('empty folders go with the last object in them', async () => {
    const store = await openFileStore(folder)
    await store.putBytes('a/b/c', bytes('x'))
    await store.remove('a/b/c')
    expect(await readdir(folder)).toEqual(['.staging'])
  })

  test('a folder that cannot be written is STORE_UNAVAILABLE', async () => {
    const store = await openFileStore(folder)
    await store.putBytes('file', bytes('x'))
    await rm(join(folder, '.staging'), { recursive: true })
    await expect(store.putBytes('a', bytes('x'))).rejects.toMatchObject({ code: 'STORE_UNAVAILABLE' })
  })

  test('a key below an object is no object', async () => {
    const store = await openFileStore(folder)
    await store.putBytes('file', bytes('x'))
    expect(await store.exists('file/below')).toBe(false)
    await expect(store.getBytes('file/below')).rejects.toMatchObject({ code: 'SNAPSHOT_UNKNOWN' })
    await expect(store.putBytes('file/below', bytes('y'))).rejects.toMatchObject({
      code: 'STORE_UNAVAILABLE',
    })
  })
})
