import { mkdir } from 'node:fs/promises'
import { join } from 'node:path'
import type { TestProcess } from '@torpor/adapter-process/test-process'
import { accepts, findTestProgram, startTestProcess } from '@torpor/adapter-process/test-process'

/** A real S3 server of a test's own: free port, temporary folder, one bucket. */
export type TestStore = Pick<TestProcess, 'kill' | 'stop'> & {
  readonly endpoint: string
  readonly bucket: string
  readonly accessKey: string
  readonly secretKey: string
  /** Folder of the bucket: each object is a file in it. */
  readonly folder: string
}

const BUCKET = 'snapshots'
const KEYS = { accessKey: 'torpor-test', secretKey: 'a secret of a test' }

/**
 * Starts versitygw. Its keys are given to the SDK by the environment: see {@link useKeysOf}.
 * @example const server = await startTestStore()
 */
export async function startTestStore(): Promise<TestStore> {
  const { folder, port, kill, stop } = await startTestProcess({
    name: 's3',
    async prepare({ folder, port }) {
      await mkdir(join(folder, BUCKET))
      return {
        file: findTestProgram('versitygw', 'TORPOR_VERSITYGW'),
        args: ['--port', `127.0.0.1:${port}`, '--quiet', '--keep-alive', 'posix', folder],
        env: { ROOT_ACCESS_KEY: KEYS.accessKey, ROOT_SECRET_KEY: KEYS.secretKey },
      }
    },
    isReady: ({ port }) => accepts(port),
  })
  const endpoint = `http://127.0.0.1:${port}`
  return { endpoint, bucket: BUCKET, ...KEYS, folder: join(folder, BUCKET), kill, stop }
}

/** Puts the keys of a test's server where the SDK looks for credentials. */
export function useKeysOf({ accessKey, secretKey }: Pick<TestStore, 'accessKey' | 'secretKey'>): void {
  process.env.AWS_ACCESS_KEY_ID = accessKey
  process.env.AWS_SECRET_ACCESS_KEY = secretKey
}
