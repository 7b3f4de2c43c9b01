import { setTimeout as sleep } from 'node:timers/promises'
import { describeEventLogLaws } from '@torpor/contracts/laws/event-log-laws'
import { describeShardLeasesLaws } from '@torpor/contracts/laws/shard-leases-laws'
import { jetstreamManager } from '@nats-io/jetstream'
import { connect } from '@nats-io/transport-node'
import { afterAll, beforeAll } from 'vitest'
import { connectNats } from './connect-nats.ts'
import type { TestServer } from './start-test-server.ts'
import { startTestServer } from './start-test-server.ts'

let server: TestServer
beforeAll(async () => {
  server = await startTestServer()
})
afterAll(() => server.stop())

/** A system that has just been made, as two processes see it. */
async function freshSystem() {
  await removeStreams(server.url)
  const one = await connectNats({ url: server.url, name: 'one', shards: 3 })
  const two = await connectNats({ url: server.url, name: 'two', shards: 5 })
  const close = async () => {
    await Promise.all([one.close(), two.close()])
  }
  return { one, two, close }
}

async function removeStreams(url: string): Promise<void> {
  const connection = await connect({ servers: url })
  const manager = await jetstreamManager(connection)
  for await (const { config } of manager.streams.list()) await manager.streams.delete(config.name)
  await connection.close()
}

describeEventLogLaws('JetStream', async () => {
  const { one, two, close } = await freshSystem()
  return { log: one.log, other: two.log, close }
})

describeShardLeasesLaws('a key-value bucket of JetStream', async () => {
  const { one, two, close } = await freshSystem()
  return { leases: one.leases, other: two.leases, pass: (ms) => sleep(ms), close }
})
