import { readdir } from 'node:fs/promises'
import { describeSnapshotStoreLaws } from '@torpor/contracts/laws/snapshot-store-laws'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { openS3Store } from './s3-store.ts'
import type { TestStore } from './start-test-store.ts'
import { startTestStore, useKeysOf } from './start-test-store.ts'

const bytes = (text: string) => new TextEncoder().encode(text)
let server: TestStore
let opened = 0

beforeAll(async () => {
  server = await startTestStore()
  useKeysOf(server)
})
afterAll(() => server.stop())

const optionsWith = (prefix: string) => ({
  bucket: server.bucket,
  endpoint: server.endpoint,
  region: 'us-east-1',
  prefix,
})

describeSnapshotStoreLaws('a bucket of an S3 server', async () => ({
  store: await openS3Store(optionsWith(`law-${opened++}`)),
  close: async () => undefined,
}))

describe('a snapshot store in a bucket', () => {
  test('a wrong secret is told when the store is opened', async () => {
    useKeysOf({ accessKey: server.accessKey, secretKey: 'wrong' })
    await expect(openS3Store(optionsWith('x'))).rejects.toMatchObject({
      code: 'STORE_UNAVAILABLE',
      message: expect.stringMatching(/refuses the credentials: SignatureDoesNotMatch/),
    })
    useKeysOf(server)
  })

  test('a bucket that is not there is told when the store is opened', async () => {
    const opening = openS3Store({ ...optionsWith('x'), bucket: 'no-such-bucket' })
    await expect(opening).rejects.toThrow(/the bucket no-such-bucket does not exist/)
  })

  test('two prefixes are two stores', async () => {
    const [one, two] = [await openS3Store(optionsWith('one')), await openS3Store(optionsWith('two'))]
    await one.putBytes('k', bytes('x'))
    expect(await two.exists('k')).toBe(false)
    expect(await readdir(`${server.folder}/one`)).toEqual(['k'])
  })

  test('a server that is gone is STORE_UNAVAILABLE, not an unknown snapshot', async () => {
    const own = await startTestStore()
    const store = await openS3Store({ ...optionsWith('x'), endpoint: own.endpoint })
    await own.kill()
    await expect(store.getBytes('k')).rejects.toMatchObject({ code: 'STORE_UNAVAILABLE' })
    await expect(store.exists('k')).rejects.toMatchObject({ code: 'STORE_UNAVAILABLE' })
    await own.stop()
  })
})
