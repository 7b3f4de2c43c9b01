import { connect, headers as natsHeaders } from 'nats'
import type { NatsConnection } from 'nats'
import { ALL, STREAMS, SUBJECTS, actorRef } from '@torpor/contracts'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { condition, startTestSystem } from './testing/system.ts'
import type { TestSystem } from './testing/system.ts'

/** What a client does that knows nothing of this project: the legacy NATS package, subjects and JSON by hand. */
describe('a plain NATS client', () => {
  let system: TestSystem
  let plain: NatsConnection
  beforeAll(async () => {
    system = await startTestSystem()
    await system.makeTemplate()
    plain = await connect({ servers: system.server.url })
    await system.client.actor('demo', 'by-hand').create({ template: 'counter' })
  })
  afterAll(async () => {
    await plain?.close()
    await system?.close()
  })

  const linesOf = async (stream: string, filter: string): Promise<readonly string[]> => {
    const consumer = await plain.jetstream().consumers.get(stream, { filterSubjects: filter })
    const lines: string[] = []
    const info = await consumer.info(true)
    if (info.num_pending === 0) return lines
    for await (const message of await consumer.fetch({ max_messages: info.num_pending, expires: 2_000 })) {
      lines.push(message.string())
    }
    return lines
  }
  const typesOf = async (name: string): Promise<readonly string[]> => {
    const lines = await linesOf(STREAMS.events, SUBJECTS.event(actorRef('demo', name)))
    return lines.map((line) => (JSON.parse(line) as { type: string }).type)
  }

  test('wakes an actor by the durable door, and reads the events', async () => {
    const ack = await plain
      .jetstream()
      .publish(SUBJECTS.command(actorRef('demo', 'by-hand'), 'ResumeActor'), '{}')
    expect(ack.stream).toBe(STREAMS.commands)
    const types = await condition('the actor to run', async () => {
      const found = await typesOf('by-hand')
      return found.includes('dev.torpor.actor.resumed.v1') ? found : undefined
    })
    expect(types.slice(0, 3)).toEqual([
      'dev.torpor.actor.created.v1',
      'dev.torpor.actor.resume-started.v1',
      'dev.torpor.actor.resumed.v1',
    ])
  })

  test('asks by the fast door, and the reply is the outcome', async () => {
    const subject = SUBJECTS.rpc(actorRef('demo', 'by-hand'), 'SuspendActor')
    const reply = await plain.request(subject, '{"mode":"sync"}', { timeout: 20_000 })
    expect(reply.json()).toMatchObject({ ok: true, result: { actor: { state: 'ACTOR_STATE_SUSPENDED' } } })
  })

  test('sends the same durable command twice under one id: it happens once', async () => {
    const subject = SUBJECTS.command(actorRef('demo', 'by-hand'), 'ResumeActor')
    const id = '01a22f00-0000-7000-8000-000000000001'
    const body = JSON.stringify({ specversion: '1.0', id: freshUuid(id), type: 'ResumeActor', data: {} })
    const options = { headers: natsHeaders() }
    await plain.jetstream().publish(subject, body, options)
    await plain.jetstream().publish(subject, body, options)
    await condition('the actor to run again', async () => {
      const { state } = await system.client.actor('demo', 'by-hand').get()
      return state === 'ACTOR_STATE_RUNNING' ? true : undefined
    })
    const started = (await typesOf('by-hand')).filter((type) => type === 'dev.torpor.actor.resume-started.v1')
    expect(started.length).toBe(2)
  })

  test('reads node commands, and each PENDING that became COMPLETED, on the bus', async () => {
    await system.client.actor('demo', 'by-hand').suspend({ mode: 'async' })
    await system.until('by-hand', ({ snapshots }) =>
      snapshots.every(({ storageState }) => storageState === 'SNAPSHOT_STORAGE_STATE_COMPLETED'),
    )
    const commands = await linesOf(STREAMS.nodeCommands, ALL.nodeCommandsOf('node-1'))
    const verbs = new Set(commands.map((line) => (JSON.parse(line) as { type: string }).type))
    for (const verb of ['Prepare', 'Go', 'Checkpoint', 'Upload']) expect(verbs).toContain(verb)
    const reports = await linesOf(STREAMS.reports, ALL.reports)
    const said = reports.map((line) => (JSON.parse(line) as { type: string }).type)
    for (const report of ['Restored', 'Checkpointed', 'Uploaded']) expect(said).toContain(report)
    const { uid, snapshots } = await system.client.actor('demo', 'by-hand').get()
    const uploaded = reports.some(
      (line) => line.includes(uid) && line.includes(snapshots[0]?.manifestDigest ?? '-'),
    )
    expect(uploaded).toBe(true)
  })
})

/** The id with the time of now, so that it lies in the idempotency window. */
function freshUuid(id: string): string {
  const time = Date.now().toString(16).padStart(12, '0')
  return `${time.slice(0, 8)}-${time.slice(8)}${id.slice(13)}`
}
