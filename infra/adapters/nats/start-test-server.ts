import type { ChildProcess } from 'node:child_process'
import { spawn } from 'node:child_process'
import { existsSync } from 'node:fs'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { connect, createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { delimiter, join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import type { NatsServerOptions } from './server-config.ts'
import { natsServerConfig } from './server-config.ts'

/** A real nats-server of a test's own: free port, temporary store, each write synced. */
export type TestServer = {
  readonly url: string
  readonly port: number
  readonly storeDir: string
  /** Process id while it runs. */
  pid(): number | undefined
  /** Ends the process as a crash does, store and port stay. */
  kill(): Promise<void>
  /** Starts it again on the same store and port. */
  restart(): Promise<void>
  /** Ends it and removes the store. */
  stop(): Promise<void>
}

const READY_MS = 20_000
const POLL_MS = 20

/**
 * Starts a nats-server.
 * @example const server = await startTestServer(); const nats = await connectNats({ url: server.url, name: 't', shards: 2 })
 */
export async function startTestServer(
  options: Partial<Omit<NatsServerOptions, 'storeDir'>> = {},
): Promise<TestServer> {
  const binary = findNatsServer()
  const folder = await mkdtemp(join(tmpdir(), 'torpor-nats-test-'))
  const port = options.port ?? (await freePort())
  const storeDir = join(folder, 'store')
  const configPath = join(folder, 'nats.conf')
  await writeFile(configPath, natsServerConfig({ ...options, port, storeDir }))
  let running: ChildProcess | undefined

  const start = async () => {
    running = spawn(binary, ['-c', configPath], { stdio: ['ignore', 'ignore', 'pipe'] })
    await untilReady(running, port)
  }
  const kill = async () => {
    if (running !== undefined) await end(running)
    running = undefined
  }
  await start()
  return {
    url: `nats://127.0.0.1:${port}`,
    port,
    storeDir,
    pid: () => running?.pid,
    kill,
    restart: start,
    async stop() {
      await kill()
      await rm(folder, { recursive: true, force: true })
    },
  }
}

/** The binary that TORPOR_NATS_SERVER names, else the one on PATH, else the one that the set-up fetched. */
export function findNatsServer(): string {
  const named = process.env.TORPOR_NATS_SERVER
  const onPath = (process.env.PATH ?? '').split(delimiter).map((folder) => join(folder, 'nats-server'))
  const fetched = join(import.meta.dirname, '../../../.torpor/tools/bin/nats-server')
  const found = [...(named === undefined ? [] : [named]), ...onPath, fetched].find((path) => existsSync(path))
  if (found === undefined) throw new Error('no nats-server: set TORPOR_NATS_SERVER or run the set-up')
  return found
}

/** A port that nothing listens on just now. */
export function freePort(): Promise<number> {
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
  while (!(await greets(port))) {
    if (server.exitCode !== null || Date.now() > deadline)
      throw new Error(`nats-server: not ready\n${output}`)
    await sleep(POLL_MS)
  }
}

/** A server that is ready sends INFO by itself. */
function greets(port: number): Promise<boolean> {
  const { promise, resolve } = Promise.withResolvers<boolean>()
  const socket = connect(port, '127.0.0.1')
  socket.setTimeout(1_000, () => resolve(false))
  socket.once('data', (data) => resolve(data.toString().startsWith('INFO')))
  socket.once('error', () => resolve(false))
  socket.once('close', () => resolve(false))
  return promise.finally(() => socket.destroy())
}

async function end(server: ChildProcess): Promise<void> {
  if (server.exitCode !== null || server.signalCode !== null) return
  const { promise, resolve } = Promise.withResolvers<void>()
  server.once('exit', () => resolve())
  server.kill('SIGKILL')
  await promise
}
