import { randomBytes } from 'node:crypto'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { createDigests, digestOf } from './digests.ts'

let folder: string
const digests = createDigests()
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'torpor-digests-'))
})
afterEach(async () => {
  await digests.close()
  await rm(folder, { recursive: true, force: true })
})

test('nothing has the digest that BLAKE3 gives it', () => {
  expect(digestOf(Buffer.alloc(0))).toBe(
    'blake3:af1349b9f5f9a1a6a0404dea36dcc9499bcb25c9adc112b7cc9a93cae41f3262',
  )
})

test('small and large files have the digest of their bytes, many at once', async () => {
  const sizes = [0, 1, 256 * 1024, 256 * 1024 + 1, 3 * 1024 * 1024 + 7]
  const contents = sizes.map((size) => randomBytes(size))
  const paths = sizes.map((size) => join(folder, String(size)))
  await Promise.all(paths.map((path, index) => writeFile(path, contents[index] ?? '')))
  expect(await Promise.all(paths.map((path) => digests.ofFile(path)))).toEqual(
    contents.map((content) => digestOf(content)),
  )
})

test('a file that is not there is an error, for large ones too', async () => {
  await expect(digests.ofFile(join(folder, 'none'))).rejects.toThrow('ENOENT')
})
