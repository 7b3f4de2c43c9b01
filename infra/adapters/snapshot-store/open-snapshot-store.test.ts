import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { startTestStore, useKeysOf } from '@torpor/adapter-s3/test-store'
import { expect, test } from 'vitest'
import { openSnapshotStore } from './open-snapshot-store.ts'

const bytes = (text: string) => new TextEncoder().encode(text)
const settings = { TORPOR_S3_ENDPOINT: '', TORPOR_S3_REGION: 'us-east-1' }

test('file:// is a folder', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'torpor-open-store-'))
  const store = await openSnapshotStore(pathToFileURL(join(folder, 'with a space')).href, settings)
  await store.putBytes('k', bytes('x'))
  expect(await store.exists('k')).toBe(true)
  await rm(folder, { recursive: true, force: true })
})

test('s3:// is a bucket with a prefix, at the endpoint of the settings', async () => {
  const server = await startTestStore()
  useKeysOf(server)
  const withEndpoint = { ...settings, TORPOR_S3_ENDPOINT: server.endpoint }
  const store = await openSnapshotStore(`s3://${server.bucket}/some/prefix/`, withEndpoint)
  await store.putBytes('k', bytes('x'))
  const whole = await openSnapshotStore(`s3://${server.bucket}`, withEndpoint)
  const keys: string[] = []
  for await (const key of whole.list('')) keys.push(key)
  expect(keys).toEqual(['some/prefix/k'])
  await server.stop()
})

test.for(['', 'snapshots', 'http://host/x', 'file://host/x', 's3://', 'file:///'])(
  '%j is no store',
  async (url) => {
    await expect(openSnapshotStore(url, settings)).rejects.toMatchObject({ code: 'CONFIG_INVALID' })
  },
)
