import { mkdirSync, writeFileSync } from 'node:fs'
import path from 'node:path'
import { renderNatsConfig, type NatsConfig } from './nats-config.ts'
import type { PartDefinition } from './part.ts'

const MIB = 1024 * 1024

export type NatsPartOptions = {
  readonly binary: string
  /** Holds the configuration and, below `jetstream`, the streams. */
  readonly folder: string
  readonly port: number
} & Partial<
  Pick<NatsConfig, 'host' | 'serverName' | 'users' | 'monitorPort' | 'webSocketPort' | 'fileStoreBytesMax'>
>

/** Writes the configuration and describes the part: a nats-server with a synced JetStream. */
export function natsPart(options: NatsPartOptions): PartDefinition {
  const folder = path.resolve(options.folder)
  const { binary, port, host = '127.0.0.1', users = [], serverName = 'torpor-local' } = options
  mkdirSync(folder, { recursive: true, mode: 0o700 })
  const file = path.join(folder, 'nats.json')
  const config: NatsConfig = {
    serverName,
    host,
    port,
    users,
    storeFolder: path.join(folder, 'jetstream'),
    fileStoreBytesMax: options.fileStoreBytesMax ?? 16 * 1024 * MIB,
    memoryStoreBytesMax: 512 * MIB,
    ...(options.monitorPort === undefined ? {} : { monitorPort: options.monitorPort }),
    ...(options.webSocketPort === undefined ? {} : { webSocketPort: options.webSocketPort }),
  }
  writeFileSync(file, renderNatsConfig(config), { mode: 0o600 })
  return {
    name: 'nats-server',
    command: binary,
    args: ['--config', file],
    readyWhen: { kind: 'line', pattern: /Server is ready/, address: `nats://${host}:${port}` },
  }
}
