import { appendFile, mkdtemp, rename, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import type { CheckedCopies } from './checked-copies.ts'
import { createCheckedCopies } from './checked-copies.ts'

const FILES = [{ path: 'pages.img', bytes: 4, digest: 'blake3:0' }]

describe('copies that were checked', () => {
  let folder = ''
  let checked: CheckedCopies
  beforeEach(async () => {
    folder = await mkdtemp(join(tmpdir(), 'torpor-checked-'))
    await writeFile(join(folder, 'pages.img'), 'data')
    checked = createCheckedCopies()
    checked.remember(folder, (await checked.identify(folder, FILES)) ?? '')
  })
  afterEach(() => rm(folder, { recursive: true, force: true }))

  const isUnchanged = async (): Promise<boolean> => {
    const identity = await checked.identify(folder, FILES)
    return identity !== undefined && checked.isUnchanged(folder, identity)
  }

  test('are unchanged while nobody touches them', async () => {
    expect(await isUnchanged()).toBe(true)
  })

  test.each([
    ['written to, to the same length', () => writeFile(join(folder, 'pages.img'), 'DATA')],
    ['appended to', () => appendFile(join(folder, 'pages.img'), '!')],
    ['removed', () => rm(join(folder, 'pages.img'))],
    [
      'replaced',
      async () => {
        await writeFile(join(folder, 'other'), 'data')
        await rename(join(folder, 'other'), join(folder, 'pages.img'))
      },
    ],
  ])('are not when one was %s', async (_, touch) => {
    await touch()
    expect(await isUnchanged()).toBe(false)
  })

  test('are not known to another agent', async () => {
    const identity = await checked.identify(folder, FILES)
    expect(createCheckedCopies().isUnchanged(folder, identity ?? '')).toBe(false)
  })
})
