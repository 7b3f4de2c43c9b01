import { mkdirSync, readdirSync, writeFileSync } from 'node:fs'
import path from 'node:path'
import type { NatsServerOptions } from '@torpor/adapter-nats/server-config'
import { natsServerConfig } from '@torpor/adapter-nats/server-config'
import type { PartDefinition } from './part.ts'

const MIB = 1024 * 1024
const FILE_STORE_BYTES_MAX = 16 * 1024 * MIB
const MEMORY_STORE_BYTES_MAX = 512 * MIB

export type NatsPartOptions = {
  readonly binary: string
  /** Holds the configuration and, below `jetstream`, the streams. */
  readonly folder: string
  readonly port: number
} & Pick<NatsServerOptions, 'users' | 'userOfUnnamed' | 'monitorPort' | 'fileStoreBytesMax'>

/** Writes the configuration and describes the part: a nats-server with a synced JetStream, on the loopback only. */
export function natsPart(options: NatsPartOptions): PartDefinition {
  const { binary, folder: given, ...server } = options
  const folder = path.resolve(given)
  mkdirSync(folder, { recursive: true, mode: 0o700 })
  const file = path.join(folder, 'nats.conf')
  const config = natsServerConfig({
    name: 'torpor-local',
    fileStoreBytesMax: FILE_STORE_BYTES_MAX,
    memoryStoreBytesMax: MEMORY_STORE_BYTES_MAX,
    ...server,
    storeDir: path.join(folder, 'jetstream'),
  })
  writeFileSync(file, config, { mode: 0o600 })
  return {
    name: 'nats-server',
    command: binary,
    args: ['--config', file],
    readyWhen: { kind: 'line', pattern: /Server is ready/, address: `nats://127.0.0.1:${options.port}` },
  }
}

/** Shards of the system whose streams lie in the folder of such a part; 0 where there is none yet. */
export function shardsOnDisk(folder: string): number {
  try {
    const streams = readdirSync(path.join(folder, 'jetstream', 'jetstream', '$G', 'streams'))
    return streams.filter((name) => /^LOG_\d+$/.test(name)).length
  } catch {
    return 0
  }
}
