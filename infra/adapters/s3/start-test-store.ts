import type { ChildProcess } from 'node:child_process'
import { spawn } from 'node:child_process'
import { existsSync } from 'node:fs'
import { mkdir, mkdtemp, rm } from 'node:fs/promises'
import { connect, createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { delimiter, join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'

/** A real S3 server of a test's own: free port, temporary folder, one bucket. */
export type TestStore = {
  readonly endpoint: string
  readonly bucket: string
  readonly accessKey: string
  readonly secretKey: string
  /** Folder of the bucket: each object is a file in it. */
  readonly folder: string
  /** Ends it as a crash does; the folder stays. */
  kill(): Promise<void>
  /** Ends it and removes the folder. */
  stop(): Promise<void>
}

const READY_MS = 20_000
const POLL_MS = 20

/**
 * Starts versitygw. Its keys are given to the SDK by the environment: see {@link useKeysOf}.
 * @example const server = await startTestStore()
 */
export async function startTestStore(): Promise<TestStore> {
  const root = await mkdtemp(join(tmpdir(), 'torpor-s3-test-'))
  const bucket = 'snapshots'
  const folder = join(root, bucket)
  await mkdir(folder)
  const port = await freePort()
  const [accessKey, secretKey] = ['torpor-test', 'a secret of a test']
  const server = spawn(
    findVersityGateway(),
    ['--port', `127.0.0.1:${port}`, '--quiet', '--keep-alive', 'posix', root],
    {
      stdio: ['ignore', 'ignore', 'pipe'],
      env: { ...process.env, ROOT_ACCESS_KEY: accessKey, ROOT_SECRET_KEY: secretKey },
    },
  )
  await untilReady(server, port)
  const kill = () => end(server)
  return {
    endpoint: `http://127.0.0.1:${port}`,
    bucket,
    accessKey,
    secretKey,
    folder,
    kill,
    async stop() {
      await kill()
      await rm(root, { recursive: true, force: true })
    },
  }
}

/** Puts the keys of a test's server where the SDK looks for credentials. */
export function useKeysOf({ accessKey, secretKey }: Pick<TestStore, 'accessKey' | 'secretKey'>): void {
  process.env.AWS_ACCESS_KEY_ID = accessKey
  process.env.AWS_SECRET_ACCESS_KEY = secretKey
}

/** The binary that TORPOR_VERSITYGW names, else the one on PATH, else the one that the set-up fetched. */
function findVersityGateway(): string {
  const named = process.env.TORPOR_VERSITYGW
  const onPath = (process.env.PATH ?? '').split(delimiter).map((folder) => join(folder, 'versitygw'))
  const fetched = join(import.meta.dirname, '../../../.torpor/tools/bin/versitygw')
  const found = [...(named === undefined ? [] : [named]), ...onPath, fetched].find((path) => existsSync(path))
  if (found === undefined) throw new Error('no versitygw: set TORPOR_VERSITYGW or run the set-up')
  return found
}

function freePort(): Promise<number> {
  const { promise, resolve, reject } = Promise.withResolvers<number>()
  const server = createServer().once('error', reject)
  server.listen(0, '127.0.0.1', () => {
    const address = server.address()
    server.close(() => resolve(typeof address === 'object' && address !== null ? address.port : 0))
  })
  return promise
}

async function untilReady(server: ChildProcess, port: number): Promise<void> {
  let output = ''
  server.stderr?.on('data', (chunk: Buffer) => (output = (output + chunk.toString()).slice(-4_000)))
  const deadline = Date.now() + READY_MS
  while (!(await accepts(port))) {
    if (server.exitCode !== null || Date.now() > deadline) throw new Error(`versitygw: not ready\n${output}`)
    await sleep(POLL_MS)
  }
}

function accepts(port: number): Promise<boolean> {
  const { promise, resolve } = Promise.withResolvers<boolean>()
  const socket = connect(port, '127.0.0.1')
  socket.once('connect', () => resolve(true))
  socket.once('error', () => resolve(false))
  return promise.finally(() => socket.destroy())
}

async function end(server: ChildProcess): Promise<void> {
  if (server.exitCode !== null || server.signalCode !== null) return
  const { promise, resolve } = Promise.withResolvers<void>()
  server.once('exit', () => resolve())
  server.kill('SIGKILL')
  await promise
}
