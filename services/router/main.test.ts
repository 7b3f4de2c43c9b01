/** The router as a process, on a real bus whose control side is played by the test. */
import type { ChildProcess } from 'node:child_process'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { request } from 'node:http'
import { text } from 'node:stream/consumers'
import { fileURLToPath } from 'node:url'
import { afterAll, beforeAll, expect, test, vi } from 'vitest'
import type { NatsAdapter } from '@torpor/adapter-nats'
import { connectNats } from '@torpor/adapter-nats'
import type { TestServer } from '@torpor/adapter-nats/test-server'
import { startTestServer } from '@torpor/adapter-nats/test-server'
import type { CommandEnvelope } from '@torpor/contracts'
import {
  actorRef,
  ALL,
  ANSWER_WHEN_HEADER,
  commandEnvelopeSchema,
  COMMANDS,
  refuse,
  SUBJECTS,
  systemClock,
} from '@torpor/contracts'
import { anActor, anAssignment, startSandboxServer, startTestGate } from '../node-agent/gate/gate-world.ts'
import type { SandboxServer } from '../node-agent/gate/gate-world.ts'
import type { Gate } from '../node-agent/gate/gate.ts'
import { capacityOverBus, wakeOverBus } from './wake-over-bus.ts'

let server: TestServer
let nats: NatsAdapter
let gate: Gate
let sandbox: SandboxServer
let commands: CommandEnvelope[]
let headers: Readonly<Record<string, string>>[]
let answer: () => unknown

const running = () => ({
  ok: true,
  result: {
    actor: { state: 'ACTOR_STATE_RUNNING', worker: workerOf() },
  },
})
const workerOf = () => ({ ...anAssignment(), gateAddress: gate.address })

beforeAll(async () => {
  server = await startTestServer()
  nats = await connectNats({ url: server.url, name: 'control side' })
  gate = await startTestGate()
  sandbox = await startSandboxServer((incoming, answer) => answer.end(`hello ${incoming.url}`))
  gate.open(anActor(sandbox.port))
  commands = []
  headers = []
  nats.bus.subscribe(ALL.rpc, ({ data, headers: sent }, respond) => {
    headers.push(sent)
    commands.push(commandEnvelopeSchema.parse(JSON.parse(new TextDecoder().decode(data))))
    respond(new TextEncoder().encode(JSON.stringify(answer())))
  })
})

afterAll(async () => {
  await nats.close()
  await gate.stop()
  await sandbox.stop()
  await server.stop()
})

test('a wake is a ResumeActor on the fast door, and its answer the gate of the worker', async () => {
  answer = running
  const reply = await wakeOverBus(nats.bus, systemClock)(actorRef('demo', 'counter'), 'command-1', 'serving')
  expect(reply).toEqual({ ok: true, result: { assignment: anAssignment(), gateAddress: gate.address } })
  expect(commands.at(-1)).toMatchObject({ id: 'command-1', type: 'ResumeActor' })
  expect(COMMANDS.ResumeActor.schema.safeParse(commands.at(-1)?.data).success).toBe(true)
})

test('an actor that starts is an answer for whoever asked for its place only', async () => {
  answer = () => ({ ok: true, result: { actor: { state: 'ACTOR_STATE_RESUMING', worker: workerOf() } } })
  const wake = wakeOverBus(nats.bus, systemClock)
  expect(await wake(actorRef('demo', 'counter'), 'x', 'placed')).toEqual({
    ok: true,
    result: { assignment: anAssignment(), gateAddress: gate.address, isStarting: true },
  })
  expect(headers.at(-1)).toMatchObject({ [ANSWER_WHEN_HEADER]: 'placed' })
  await wake(actorRef('demo', 'counter'), 'x', 'serving')
  expect(headers.at(-1)?.[ANSWER_WHEN_HEADER]).toBeUndefined()
})

test('an actor that is not running is a conflict, and a refusal stays what it is', async () => {
  answer = () => ({ ok: true, result: { actor: { state: 'ACTOR_STATE_SUSPENDING' } } })
  const wake = wakeOverBus(nats.bus, systemClock)
  expect(await wake(actorRef('demo', 'counter'), 'x', 'serving')).toMatchObject({
    ok: false,
    error: { code: 'ACTOR_STATE_CONFLICT', detail: 'ACTOR_STATE_SUSPENDING' },
  })
  answer = () => ({ ok: false, error: refuse('ACTOR_CRASHED', 'demo/counter') })
  expect(await wake(actorRef('demo', 'counter'), 'x', 'serving')).toMatchObject({
    error: { code: 'ACTOR_CRASHED' },
  })
})

test('nobody on the bus is BUS_UNAVAILABLE', async () => {
  const alone = await startTestServer()
  const other = await connectNats({ url: alone.url, name: 'alone' })
  const reply = await wakeOverBus(other.bus, systemClock)(actorRef('demo', 'counter'), 'x', 'serving')
  expect(reply).toMatchObject({ ok: false, error: { code: 'BUS_UNAVAILABLE' } })
  await other.close()
  await alone.stop()
})

test('what a node says of its capacity is heard', async () => {
  let heard = 0
  const stop = capacityOverBus(nats.bus)(() => (heard += 1))
  nats.bus.publish(SUBJECTS.capacity('node-1'), new Uint8Array())
  await vi.waitFor(() => expect(heard).toBe(1))
  stop()
})

test('the process prints where it listens, serves, and ends in order on SIGTERM', async () => {
  answer = running
  const router = spawn(process.execPath, [fileURLToPath(new URL('main.ts', import.meta.url))], {
    env: { ...process.env, TORPOR_NATS_URL: server.url, TORPOR_LISTEN: '127.0.0.1:0' },
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  const exited = once(router, 'exit')
  const url = await readyUrl(router)
  const headers = { host: 'counter.demo.actors.localhost' }
  const outgoing = request(`${url}/a`, { headers })
  outgoing.end()
  const [message] = await once(outgoing, 'response')
  expect(await text(message)).toBe('hello /a')
  router.kill('SIGTERM')
  expect(await exited).toEqual([0, null])
})

async function readyUrl(router: ChildProcess): Promise<string> {
  let said = ''
  for await (const chunk of router.stdout ?? []) {
    said += String(chunk)
    const url = /^READY router (http:\S+)\n/.exec(said)?.[1]
    if (url !== undefined) return url
  }
  throw new Error(`the router ended without READY: ${said}`)
}
