/** The configuration of a local nats-server. NATS reads JSON, so no quoting rules of its own are needed. */

export type NatsUser = {
  readonly user: string
  readonly password: string
  /** Subjects it may publish to and subscribe to; everything where not given. */
  readonly publish?: readonly string[]
  readonly subscribe?: readonly string[]
}

export type NatsConfig = {
  readonly serverName: string
  readonly host: string
  readonly port: number
  readonly storeFolder: string
  /** No users: no authentication, for one machine's loopback only. */
  readonly users: readonly NatsUser[]
  /** Monitoring over HTTP on the same host; off where not given. */
  readonly monitorPort?: number
  /** WebSocket door for browsers on the same host; off where not given. */
  readonly webSocketPort?: number
  readonly fileStoreBytesMax: number
  readonly memoryStoreBytesMax: number
}

const MESSAGE_BYTES_MAX = 1024 * 1024

/** @returns the text of the configuration file; the log is durable only because `sync_interval` is `always` */
export function renderNatsConfig(config: NatsConfig): string {
  const document = {
    server_name: config.serverName,
    listen: `${config.host}:${config.port}`,
    max_payload: MESSAGE_BYTES_MAX,
    lame_duck_duration: '30s',
    lame_duck_grace_period: '1s',
    jetstream: {
      store_dir: config.storeFolder,
      sync_interval: 'always',
      max_file_store: config.fileStoreBytesMax,
      max_memory_store: config.memoryStoreBytesMax,
    },
    ...(config.monitorPort === undefined ? {} : { http: `${config.host}:${config.monitorPort}` }),
    ...(config.webSocketPort === undefined
      ? {}
      : { websocket: { listen: `${config.host}:${config.webSocketPort}`, no_tls: true } }),
    ...(config.users.length === 0 ? {} : { authorization: { users: config.users.map(renderUser) } }),
  }
  return `${JSON.stringify(document, undefined, 2)}\n`
}

function renderUser({ user, password, publish, subscribe }: NatsUser) {
  const permissions = {
    ...(publish ? { publish: { allow: publish } } : {}),
    ...(subscribe ? { subscribe: { allow: subscribe } } : {}),
  }
  return { user, password, ...(publish || subscribe ? { permissions } : {}) }
}
