import { ALL, actorRef, STREAMS, SUBJECTS } from '@torpor/contracts'
import type { NatsConnection } from 'nats'
import { AckPolicy, connect } from 'nats'
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest'
import type { NatsAdapter } from './connect-nats.ts'
import { connectNats } from './connect-nats.ts'
import type { TestServer } from './start-test-server.ts'
import { startTestServer } from './start-test-server.ts'

const WAIT = { timeout: 20_000, interval: 20 }
const bytes = (text: string) => new TextEncoder().encode(text)
const text = (data: Uint8Array) => new TextDecoder().decode(data)

/** `nats` 2.x is another code base than the client that the adapter uses: what it can do, any NATS client can. */
describe('an independent client of the bus', () => {
  let server: TestServer
  let nats: NatsAdapter
  let client: NatsConnection

  beforeAll(async () => {
    server = await startTestServer()
    nats = await connectNats({ url: server.url, name: 'interoperability-test', shards: 1 })
    client = await connect({ servers: server.url })
  })
  afterAll(async () => {
    await Promise.all([client.close(), nats.close()])
    await server.stop()
  })

  test('publishes a command by the durable door and gets its acknowledgement', async () => {
    const command = JSON.stringify({
      specversion: '1.0',
      id: '01900000-0000-7000-8000-000000000001',
      type: 'ResumeActor',
      data: {},
    })
    const subject = SUBJECTS.command(actorRef('demo', 'my-counter-1'), 'ResumeActor')
    const ack = await client.jetstream().publish(subject, bytes(command))
    expect(ack).toMatchObject({ stream: STREAMS.commands, seq: 1 })
    for await (const taken of nats.durableCommands.follow(1, new AbortController().signal)) {
      expect(taken).toMatchObject({ sequence: 1, subject })
      expect(text(taken.data)).toBe(command)
      break
    }
  })

  test('reads the events that the adapter publishes', async () => {
    const subject = SUBJECTS.event({ atespace: 'demo', name: 'my-counter-1' })
    const lines = ['{"version":1}', '{"version":2}']
    lines.forEach((line) => nats.log.publishEvent(subject, line))
    const manager = await client.jetstreamManager()
    await vi.waitFor(async () => {
      expect((await manager.streams.info(STREAMS.events)).state.messages).toBe(2)
    }, WAIT)
    const consumer = await client.jetstream().consumers.get(STREAMS.events)
    const read: string[] = []
    for await (const message of await consumer.fetch({ max_messages: 2 })) read.push(text(message.data))
    expect(read).toEqual(lines)
  })

  test('a request to a node is answered by the node alone, and can be read afterwards', async () => {
    const subject = SUBJECTS.nodeCommand('node-1', 'Inventory')
    const served = nats.bus.subscribe(ALL.nodeCommandsOf('node-1'), (_, respond) => respond(bytes('node')))
    await vi.waitFor(() => client.request(subject, bytes('x'), { timeout: 1_000 }), WAIT)
    for (let round = 0; round < 20; round++) {
      expect(text((await client.request(subject, bytes(`${round}`), { timeout: 5_000 })).data)).toBe('node')
    }
    served.unsubscribe()

    const manager = await client.jetstreamManager()
    const { messages } = (await manager.streams.info(STREAMS.nodeCommands)).state
    await manager.consumers.add(STREAMS.nodeCommands, {
      durable_name: 'backlog',
      ack_policy: AckPolicy.Explicit,
      filter_subject: ALL.nodeCommandsOf('node-1'),
    })
    const consumer = await client.jetstream().consumers.get(STREAMS.nodeCommands, 'backlog')
    const read: string[] = []
    for await (const message of await consumer.fetch({ max_messages: messages })) {
      read.push(text(message.data))
      message.ack()
    }
    expect(read.slice(-20)).toEqual(Array.from({ length: 20 }, (_, round) => `${round}`))
  })

  test('a node that is away is no answer, and its command can be read when it is back', async () => {
    const subject = SUBJECTS.nodeCommand('node-2', 'Terminate')
    const failed = nats.bus.request(subject, bytes('gone'), { timeoutMs: 300 })
    await expect(failed).rejects.toMatchObject({ code: 'BUS_UNAVAILABLE' })
    const manager = await client.jetstreamManager()
    const stored = await manager.streams.getMessage(STREAMS.nodeCommands, { last_by_subj: subject })
    expect(text(stored.data)).toBe('gone')
  })
})
