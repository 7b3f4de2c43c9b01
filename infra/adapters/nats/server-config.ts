import { fault } from '@torpor/contracts'

/** A user of the bus and what it may do; subjects may hold wildcards. */
export type NatsUser = {
  readonly user: string
  readonly password: string
  readonly publish: readonly string[]
  readonly subscribe: readonly string[]
  /** May answer requests that it receives, wherever their answers go. */
  readonly answersRequests: boolean
}

export type NatsServerOptions = {
  readonly name?: string
  /** Address to listen on; the loopback by default. */
  readonly host?: string
  readonly port: number
  /** Folder of JetStream. */
  readonly storeDir: string
  /** For health checks and metrics, on the same address; absent: none. */
  readonly monitorPort?: number
  /** Absent: no authentication at all. */
  readonly users?: readonly NatsUser[]
  /** Which of the users whoever names none is; for the loopback only. Absent: nobody comes in without a name. */
  readonly userOfUnnamed?: string
  /** How much JetStream may keep; where absent the server decides by what the machine has. */
  readonly fileStoreBytesMax?: number
  readonly memoryStoreBytesMax?: number
  readonly cluster?: { readonly name: string; readonly port: number; readonly routes: readonly string[] }
}

const LOOPBACK = '127.0.0.1'
/** Frames are at most half of this, and headers need room. */
const PAYLOAD_BYTES_MAX = 1024 * 1024
/** Events are published without waiting; a burst of them must not be dropped before the stream has taken it. */
const STREAM_INGEST_MESSAGES_MAX = 200_000
const STREAM_INGEST_SIZE_MAX = '256MB'

/**
 * The text of a configuration file for nats-server, as every deployment of ours runs it: JetStream with each write synced.
 * Fault CONFIG_INVALID where users without a name would be let in from elsewhere than the loopback.
 * @example await writeFile(path, natsServerConfig({ port: 4222, storeDir: '/var/lib/torpor/nats' }))
 */
export function natsServerConfig(options: NatsServerOptions): string {
  const host = options.host ?? LOOPBACK
  if (options.userOfUnnamed !== undefined && host !== LOOPBACK) {
    throw fault('CONFIG_INVALID', host, { detail: 'users without a name are let in on the loopback only' })
  }
  return [
    `listen: ${quote(`${host}:${options.port}`)}`,
    ...(options.name === undefined ? [] : [`server_name: ${quote(options.name)}`]),
    ...(options.monitorPort === undefined ? [] : [`http: ${quote(`${host}:${options.monitorPort}`)}`]),
    `max_payload: ${PAYLOAD_BYTES_MAX}`,
    'jetstream {',
    `  store_dir: ${quote(options.storeDir)}`,
    '  sync_interval: always',
    `  max_buffered_msgs: ${STREAM_INGEST_MESSAGES_MAX}`,
    `  max_buffered_size: ${STREAM_INGEST_SIZE_MAX}`,
    ...storeLine('max_file_store', options.fileStoreBytesMax),
    ...storeLine('max_memory_store', options.memoryStoreBytesMax),
    '}',
    ...clusterLines(host, options.cluster),
    ...userLines(options.users),
    ...(options.userOfUnnamed === undefined ? [] : [`no_auth_user: ${quote(options.userOfUnnamed)}`]),
    '',
  ].join('\n')
}

const storeLine = (key: string, bytes: number | undefined): readonly string[] =>
  bytes === undefined ? [] : [`  ${key}: ${bytes}`]

function clusterLines(host: string, cluster: NatsServerOptions['cluster']): readonly string[] {
  if (cluster === undefined) return []
  return [
    'cluster {',
    `  name: ${quote(cluster.name)}`,
    `  listen: ${quote(`${host}:${cluster.port}`)}`,
    `  routes: ${list(cluster.routes)}`,
    '}',
  ]
}

function userLines(users: readonly NatsUser[] | undefined): readonly string[] {
  if (users === undefined) return []
  return ['authorization {', '  users: [', ...users.map(userLine), '  ]', '}']
}

function userLine({ user, password, publish, subscribe, answersRequests }: NatsUser): string {
  const permissions = [
    `publish: { allow: ${list(publish)} }`,
    `subscribe: { allow: ${list(subscribe)} }`,
    ...(answersRequests ? ['allow_responses: true'] : []),
  ].join(', ')
  return `    { user: ${quote(user)}, password: ${quote(password)}, permissions: { ${permissions} } }`
}

const quote = (text: string): string => JSON.stringify(text)
const list = (texts: readonly string[]): string => `[${texts.map(quote).join(', ')}]`
