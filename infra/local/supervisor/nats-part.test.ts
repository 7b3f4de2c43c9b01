import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { connect, type NatsConnection } from 'nats'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { choosePort } from './choose-port.ts'
import { natsPart, type NatsPartOptions } from './nats-part.ts'
import { openSupervisor, type Supervisor } from './supervisor.ts'
import { requireTool } from './tool-paths.ts'
import { waitUntil } from './wait-until.ts'

const WAIT_MS = 20_000
const FIRST_PORT = 14_222

let dataFolder = ''
let supervisor: Supervisor
let open: NatsConnection[] = []

beforeEach(async () => {
  dataFolder = mkdtempSync(path.join(tmpdir(), 'torpor-nats-'))
  supervisor = await openSupervisor({ dataFolder })
})

afterEach(async () => {
  await Promise.all(open.map((connection) => connection.close()))
  open = []
  await supervisor.stop()
  rmSync(dataFolder, { recursive: true, force: true })
})

const start = async (more: Partial<NatsPartOptions> = {}): Promise<string> => {
  const { port } = await choosePort('nats', FIRST_PORT)
  const folder = path.join(dataFolder, 'nats')
  return supervisor.startPart(natsPart({ binary: requireTool('nats-server'), folder, port, ...more }))
}

const dial = async (servers: string, user?: string): Promise<NatsConnection> => {
  const credentials = user === undefined ? {} : { user, pass: `${user}-password` }
  const connection = await connect({
    servers,
    ...credentials,
    maxReconnectAttempts: -1,
    reconnectTimeWait: 50,
  })
  open.push(connection)
  return connection
}

test('what was acknowledged before a SIGKILL is there after it', async () => {
  const url = await start()
  const connection = await dial(url)
  const manager = await connection.jetstreamManager()
  await manager.streams.add({ name: 'KEPT', subjects: ['kept.>'] })
  for (let index = 0; index < 20; index += 1) await connection.jetstream().publish('kept.one', `${index}`)
  supervisor.killPart('nats-server')
  expect(
    await waitUntil(
      () => supervisor.status()[0]?.starts === 2 && supervisor.status()[0]?.state === 'ready',
      WAIT_MS,
    ),
  ).toBe(true)
  const again = await (await dial(url)).jetstreamManager()
  expect((await again.streams.info('KEPT')).state.messages).toBe(20)
})

test('a user reaches what its role allows and nothing else', async () => {
  const users = [
    {
      user: 'reader',
      password: 'reader-password',
      publish: ['_INBOX.>'],
      subscribe: ['allowed.>', '_INBOX.>'],
      answersRequests: false,
    },
    { user: 'owner', password: 'owner-password', publish: ['>'], subscribe: ['>'], answersRequests: false },
  ]
  const url = await start({ users })
  await expect(connect({ servers: url, maxReconnectAttempts: 0 })).rejects.toThrow(/authorization/i)
  const reader = await dial(url, 'reader')
  const owner = await dial(url, 'owner')
  const seen: string[] = []
  owner.subscribe('forbidden.x', { callback: (_, message) => seen.push(message.subject) })
  const errors: string[] = []
  void (async () => {
    for await (const status of reader.status()) errors.push(String(status.data))
  })()
  await owner.flush()
  reader.publish('forbidden.x')
  await reader.flush()
  expect(await waitUntil(() => errors.length > 0, WAIT_MS)).toBe(true)
  await owner.flush()
  expect(seen).toEqual([])
})
