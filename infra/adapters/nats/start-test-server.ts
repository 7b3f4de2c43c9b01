import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import type { TestProcess } from '@torpor/adapter-process/test-process'
import { accepts, findTestProgram, startTestProcess } from '@torpor/adapter-process/test-process'
import type { NatsServerOptions } from './server-config.ts'
import { natsServerConfig } from './server-config.ts'

/** A real nats-server of a test's own: free port, temporary store, each write synced. */
export type TestServer = Omit<TestProcess, 'folder'> & {
  readonly url: string
  readonly storeDir: string
}

/**
 * Starts a nats-server.
 * @example const server = await startTestServer(); const nats = await connectNats({ url: server.url, name: 't', shards: 2 })
 */
export async function startTestServer(
  options: Partial<Omit<NatsServerOptions, 'storeDir'>> = {},
): Promise<TestServer> {
  const storeIn = (folder: string): string => join(folder, 'store')
  const { folder, ...server } = await startTestProcess({
    name: 'nats',
    port: options.port,
    async prepare({ folder, port }) {
      const configPath = join(folder, 'nats.conf')
      await writeFile(configPath, natsServerConfig({ ...options, port, storeDir: storeIn(folder) }))
      return { file: findTestProgram('nats-server', 'TORPOR_NATS_SERVER'), args: ['-c', configPath] }
    },
    // a server that is ready sends INFO by itself
    isReady: ({ port }) => accepts(port, 'INFO'),
  })
  return { ...server, url: `nats://127.0.0.1:${server.port}`, storeDir: storeIn(folder) }
}
