import { spawn } from 'node:child_process'
import { setTimeout as pause } from 'node:timers/promises'
import { connectNats } from '@torpor/adapter-nats'
import type { NatsAdapter } from '@torpor/adapter-nats'
import { startTestServer } from '@torpor/adapter-nats/test-server'
import type { TestServer } from '@torpor/adapter-nats/test-server'
import { openReadModel } from '@torpor/adapter-postgres'
import { startTestPostgres } from '@torpor/adapter-postgres/test-postgres'
import type { TestPostgres } from '@torpor/adapter-postgres/test-postgres'
import type { Actor, DomainEvent, EntityRef, ListQueryName, Reply } from '@torpor/contracts'
import { SUBJECTS, actorRef, actorTemplateSpecSchema, atespaceRef, systemClock } from '@torpor/contracts'
import { createClient } from '@torpor/sdk'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import type { Projector } from './projector.ts'
import { startProjector } from './projector.ts'
import type { Written } from './testing/frame-writer.ts'
import type { Note } from './retry-forever.ts'
import { FrameWriter } from './testing/frame-writer.ts'

const SHARDS = 2
const WAIT_MS = 30_000

let postgres: TestPostgres
let server: TestServer
let nats: NatsAdapter
let writers: readonly [FrameWriter, FrameWriter]
const projectors: Projector[] = []
const notes: string[] = []

beforeAll(async () => {
  postgres = await startTestPostgres()
})
afterAll(() => postgres?.stop())
beforeEach(async () => {
  server = await startTestServer()
  nats = await connectNats({ url: server.url, name: 'projector-test', shards: SHARDS })
  notes.length = 0
  writers = [new FrameWriter(nats.log.shard(0), 0), new FrameWriter(nats.log.shard(1), 1)]
  await start({ rebuild: true }).then((projector) => projector.close())
})
afterEach(async () => {
  await Promise.all(projectors.splice(0).map((projector) => projector.close()))
  await nats?.close()
  await server?.stop()
})

async function start(options: { readonly rebuild?: boolean } = {}): Promise<Projector> {
  const model = openReadModel({ url: postgres.url, poolMax: 4 })
  const { bus, log } = nats
  const note: Note = (level, message, fields) =>
    void notes.push(`${level} ${message} ${JSON.stringify(fields)}`)
  const projector = startProjector({ bus, log, model, clock: systemClock, note, ...options })
  projectors.push(projector)
  await projector.prepared
  return projector
}

async function stop(projector: Projector): Promise<void> {
  projectors.splice(projectors.indexOf(projector), 1)
  await projector.close()
}

const client = () => createClient({ bus: nats.bus })

async function until(hold: () => Promise<boolean>): Promise<void> {
  const deadlineMs = Date.now() + WAIT_MS
  while (!(await hold())) {
    if (Date.now() > deadlineMs) throw new Error('it never came true')
    await pause(20)
  }
}

/** Waits until the rows hold every frame that was written. */
const untilCaughtUp = () =>
  until(async () => {
    const { shards } = await client()
      .readModel()
      .catch(() => ({ shards: [] }))
    return shards.length > 0 && shards.every(({ shard, position }) => position === writers[shard]?.frame)
  })

async function actors(): Promise<readonly Actor[]> {
  const found: Actor[] = []
  for await (const actor of client().listAll('ListActors', { pageSize: 100 })) found.push(actor)
  return found
}
const states = async (): Promise<Readonly<Record<string, string>>> =>
  Object.fromEntries((await actors()).map(({ name, state, version }) => [name, `${state} ${version}`]))

const spec = actorTemplateSpecSchema.parse({
  sandboxClasses: [{ name: 'gvisor' }],
  containers: [{ name: 'main', image: 'oci:counter:latest' }],
})
const created = (name: string, golden = false): Written => [
  actorRef('demo', name),
  {
    type: 'ActorCreated',
    data: { uid: `uid-${name}`, template: { atespace: 'demo', name: 'counter', uid: 't' }, spec, golden },
  },
]
const resumeStarted = (name: string): Written => [
  actorRef('demo', name),
  {
    type: 'ActorResumeStarted',
    data: {
      epoch: 1,
      sequence: 1,
      node: 'node-1',
      worker: 'w',
      workerPool: 'p',
      gateAddress: '127.0.0.1:1',
      generation: 0,
      trigger: 'caller',
      deadlineAtMs: 1,
    },
  },
]
const resumed = (name: string): Written => [
  actorRef('demo', name),
  { type: 'ActorResumed', data: { epoch: 1, sequence: 1, phasesMs: {} } },
]
const deleted = (name: string): readonly Written[] => [
  [actorRef('demo', name), { type: 'ActorDeleteStarted', data: { deadlineAtMs: 1 } }],
  [actorRef('demo', name), { type: 'ActorDeleted', data: { goneUntilMs: 2 } }],
]

describe('the projector', () => {
  test('folds each shard into rows, and lists them', async () => {
    await start()
    const demo: readonly [EntityRef, DomainEvent] = [
      atespaceRef('demo'),
      { type: 'AtespaceCreated', data: { uid: 'u' } },
    ]
    await writers[0].write([demo, created('a'), created('b')])
    await writers[1].write([created('c'), resumeStarted('c')])
    await writers[1].write([resumed('c')])
    await writers[0].write(deleted('b'))
    await untilCaughtUp()
    expect(await states()).toEqual({ a: 'ACTOR_STATE_SUSPENDED 1', c: 'ACTOR_STATE_RUNNING 3' })
    const { items } = await client().list('ListAtespaces')
    expect(items.map(({ name }) => name)).toEqual(['demo'])
  })

  test('lists no golden actor', async () => {
    await start()
    await writers[0].write([created('golden-1', true), created('a')])
    await untilCaughtUp()
    expect(Object.keys(await states())).toEqual(['a'])
  })

  test('passes over the frame of a fenced owner, also when it began just before it', async () => {
    const first = await start()
    await writers[0].write([created('a')])
    await writers[0].write([resumeStarted('a')], 3)
    await untilCaughtUp()
    await stop(first)
    await writers[0].write(
      [
        [
          actorRef('demo', 'a'),
          { type: 'ActorExited', data: { epoch: 1, sequence: 1, code: 'C', message: '' } },
        ],
      ],
      2,
    )
    await writers[0].write([resumed('a')], 3)
    await start()
    await untilCaughtUp()
    expect(await states()).toEqual({ a: 'ACTOR_STATE_RUNNING 4' })
  })

  test('does not fold a frame that does not follow the one before it, and says so', async () => {
    await start()
    await writers[0].write([created('a')])
    await untilCaughtUp()
    const { append } = nats.log.shard(0)
    const forger = new FrameWriter({ ...nats.log.shard(0), append: (bytes) => append(bytes, 1) }, 0)
    await forger.write([created('forged')])
    await until(async () => notes.some((note) => note.includes('frame 1 of shard 0')))
    expect(Object.keys(await states())).toEqual(['a'])
    expect((await client().readModel()).shards[0]).toEqual({ shard: 0, position: 1, lastSequence: 2 })
  })

  test('goes on where it stopped, with the states that are in the rows', async () => {
    const first = await start()
    await writers[0].write([created('a'), created('b')])
    await untilCaughtUp()
    await stop(first)
    await writers[0].write([resumeStarted('a')])
    await writers[0].write([resumed('a'), ...deleted('b')])
    await start()
    await untilCaughtUp()
    expect(await states()).toEqual({ a: 'ACTOR_STATE_RUNNING 3' })
  })

  test('waits for a database that went away, and catches up though nothing more happens', async () => {
    await start()
    await writers[0].write([created('a')])
    await untilCaughtUp()
    await postgres.kill()
    await writers[0].write([created('b')])
    await expect(client().list('ListActors')).rejects.toThrow(
      expect.objectContaining({ code: 'READ_MODEL_UNAVAILABLE' }),
    )
    await postgres.restart()
    await untilCaughtUp()
    expect(Object.keys(await states())).toEqual(['a', 'b'])
  })

  test('waits for a database that is away when it starts', async () => {
    await postgres.kill()
    await writers[0].write([created('a')])
    const starting = start()
    const unavailable = expect.objectContaining({ code: 'READ_MODEL_UNAVAILABLE' })
    await until(async () => projectors.length > 0)
    await expect(client().list('ListActors')).rejects.toThrow(unavailable)
    await postgres.restart()
    await starting
    await untilCaughtUp()
    expect(Object.keys(await states())).toEqual(['a'])
  })

  test('may run more than once at the same time', async () => {
    await Promise.all([start(), start(), start()])
    const names = Array.from({ length: 60 }, (_, index) => `n${String(index).padStart(2, '0')}`)
    for (const name of names) {
      await writers[0].write([created(name), resumeStarted(name)])
      await writers[0].write([resumed(name)])
    }
    await untilCaughtUp()
    expect(await states()).toEqual(Object.fromEntries(names.map((name) => [name, 'ACTOR_STATE_RUNNING 3'])))
  })

  test('builds the same rows anew when it is told to', async () => {
    const first = await start()
    await writers[0].write([created('a'), created('b')])
    await writers[1].write([created('c')])
    await writers[0].write(deleted('b'))
    await untilCaughtUp()
    const before = await actors()
    await stop(first)
    await start({ rebuild: true })
    await untilCaughtUp()
    expect(await actors()).toEqual(before)
  })

  test('survives a restart of the bus', async () => {
    await start()
    await writers[0].write([created('a')])
    await untilCaughtUp()
    await server.kill()
    await server.restart()
    await until(async () =>
      nats.log
        .shard(0)
        .lastSequence()
        .then(
          () => true,
          () => false,
        ),
    )
    await writers[0].write([created('b')])
    await untilCaughtUp()
    expect(Object.keys(await states())).toEqual(['a', 'b'])
  })
})

describe('a list', () => {
  const ask = async (verb: ListQueryName, text: string): Promise<Reply<unknown>> =>
    JSON.parse(
      new TextDecoder().decode(
        await nats.bus.request(SUBJECTS.query(verb), new TextEncoder().encode(text), { timeoutMs: WAIT_MS }),
      ),
    ) as Reply<unknown>

  test('asked for without a word is the first page', async () => {
    await start()
    await writers[0].write([created('a')])
    await untilCaughtUp()
    expect(await ask('ListActors', '')).toMatchObject({ ok: true, result: { items: [{ name: 'a' }] } })
  })

  test.each([
    ['no JSON', 'x', 'COMMAND_MALFORMED'],
    ['a page that is too large', '{"pageSize":100000}', 'COMMAND_MALFORMED'],
    ['an unknown field', '{"limit":1}', 'COMMAND_MALFORMED'],
    ['a token of no page', '{"pageToken":"x"}', 'COMMAND_MALFORMED'],
  ])('asked for with %s is refused', async (_, text, code) => {
    await start()
    expect(await ask('ListActors', text)).toMatchObject({ ok: false, error: { code } })
  })
})

test('the process says READY, projects, and ends in order', async () => {
  await writers[0].write([created('a')])
  const child = spawn(process.execPath, [`${import.meta.dirname}/main.ts`, '--rebuild'], {
    env: {
      ...process.env,
      TORPOR_NATS_URL: server.url,
      TORPOR_POSTGRES_URL: postgres.url,
      TORPOR_NAME: 'p1',
    },
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  let output = ''
  child.stdout.on('data', (chunk: Buffer) => (output += chunk.toString()))
  const exited = new Promise<number | null>((resolve) => child.once('exit', resolve))
  try {
    await until(async () => output.includes('READY projector p1\n'))
    await untilCaughtUp()
    expect(Object.keys(await states())).toEqual(['a'])
  } finally {
    child.kill('SIGTERM')
  }
  expect(await exited).toBe(0)
})
