/** Every answer that a router gives in place of an actor's: status, body and headers, over real sockets. */
import { once } from 'node:events'
import type { AddressInfo, Server } from 'node:net'
import { connect, createServer } from 'node:net'
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest'
import type { ErrorCode } from '@torpor/contracts'
import { ERRORS, refuse } from '@torpor/contracts'
import {
  anActor,
  anAssignment,
  signal,
  startSandboxServer,
  startTestGate,
} from '../node-agent/gate/gate-world.ts'
import type { SandboxServer } from '../node-agent/gate/gate-world.ts'
import type { Gate } from '../node-agent/gate/gate.ts'
import type { Router } from './router.ts'
import type { ControlSide } from './router-world.ts'
import { aControlSide, ask, startTestRouter } from './router-world.ts'

let control: ControlSide
let router: Router

beforeAll(async () => {
  control = aControlSide((ref) => ({ ok: false, error: refuse('INTERNAL', ref.name) }))
  router = await startTestRouter(control, {
    parkMs: 100,
    parkPlacedExtraMs: 400,
    requestHeadTimeoutMs: 300,
  })
})

afterAll(() => router.stop())

const codeOf = (body: string): unknown => (JSON.parse(body) as { code: unknown }).code

describe('a wake that is refused', () => {
  test.each([
    ['unknown', 'ACTOR_UNKNOWN', 404],
    ['deleted', 'ACTOR_GONE', 410],
    ['crashed, policy manual', 'ACTOR_CRASHED', 409],
    ['quota', 'QUOTA_EXCEEDED', 429],
    ['no room in its budget', 'NO_CAPACITY', 503],
    ['node does not answer', 'NODE_UNAVAILABLE', 503],
    ['newest snapshot on a lost node', 'SNAPSHOT_ON_LOST_NODE', 503],
    ['no identity', 'UNAUTHENTICATED', 401],
    ['not allowed', 'FORBIDDEN', 403],
    ['no bus', 'BUS_UNAVAILABLE', 503],
    ['no log', 'LOG_UNAVAILABLE', 503],
    ['probe never answered', 'PROBE_FAILED', 504],
    ['process ended before it was ready', 'PROCESS_EXITED', 502],
  ] as const)('%s: %s is %i', async (_what, code, status) => {
    control.answer = (ref) => ({ ok: false, error: refuse(code, `${ref.atespace}/${ref.name}`) })
    const answer = await ask(router)
    expect(answer.status).toBe(status)
    expect(answer.message.headers['content-type']).toBe('application/json')
    expect(answer.message.headers['torpor-error']).toBe(code)
    expect(JSON.parse(answer.body)).toMatchObject({
      code,
      id: 'demo/counter',
      remedy: ERRORS[code].remedy,
      message: expect.stringContaining('demo/counter') as string,
    })
    const again = ERRORS[code].retry === 'never' ? undefined : '1'
    expect(answer.message.headers['retry-after']).toBe(again)
  })

  test('placed and not ready in its budget: WAKE_TIMEOUT is 504', async () => {
    control.answer = () => new Promise(() => undefined)
    const answer = await ask(router, { actor: 'demo/slow' })
    expect([answer.status, codeOf(answer.body)]).toEqual([504, 'WAKE_TIMEOUT'])
  })

  test('no room tells the position', async () => {
    control.answer = (ref) => ({ ok: false, error: refuse('NO_CAPACITY', ref.name) })
    expect(JSON.parse((await ask(router)).body)).toMatchObject({ position: 1, retryAfterSeconds: 1 })
  })

  test('a full lot refuses at once: LOT_FULL is 503', async () => {
    const none = await startTestRouter(control, { parkedRequestsMax: 0 })
    const answer = await ask(none)
    expect([answer.status, codeOf(answer.body)]).toEqual([503, 'LOT_FULL'])
    expect(answer.message.headers['retry-after']).toBe('1')
    await none.stop()
  })

  test('a HEAD gets the status without a body', async () => {
    control.answer = (ref) => ({ ok: false, error: refuse('ACTOR_UNKNOWN', ref.name) })
    const answer = await ask(router, { method: 'HEAD' })
    expect([answer.status, answer.body]).toEqual([404, ''])
  })

  test('a refused body does not disturb the next request of the connection', async () => {
    control.answer = (ref) => ({ ok: false, error: refuse('ACTOR_UNKNOWN', ref.name) })
    const said = await speak(
      post('demo', 'GET / HTTP/1.1 is what a body may say') + get('/torpor/healthz', 'localhost'),
    )
    expect(said).toMatch(/^HTTP\/1\.1 404 [\s\S]*HTTP\/1\.1 200 /)
  })
})

describe('an actor that does not answer', () => {
  let gate: Gate
  let sandbox: SandboxServer
  let raw: Server | undefined
  const released = signal()

  const place = (port: number): void => {
    gate.open(anActor(port))
    control.answer = () => ({
      ok: true,
      result: { assignment: anAssignment(), gateAddress: gate.address },
    })
  }

  beforeAll(async () => {
    gate = await startTestGate()
    sandbox = await startSandboxServer(async (_incoming, answer) => {
      await released.promise
      answer.end()
    })
  })
  afterAll(async () => {
    released.give()
    raw?.close()
    await gate.stop()
    await sandbox.stop()
  })

  test('in the route timeout: ROUTE_TIMEOUT is 504, and the actor is told that nobody waits', async () => {
    place(sandbox.port)
    const hasty = await startTestRouter(control, { routeTimeoutMs: 100 })
    const answer = await ask(hasty, { path: '/held' })
    expect([answer.status, codeOf(answer.body)]).toEqual([504, 'ROUTE_TIMEOUT'])
    await vi.waitFor(() => expect(gate.openCount(anAssignment().actorUid)).toBe(0))
    await hasty.stop()
  })

  test('cut by a forced suspend: REQUEST_CUT is 503', async () => {
    place(sandbox.port)
    const asked = ask(router, { path: '/held' })
    await vi.waitFor(() => expect(gate.openCount(anAssignment().actorUid)).toBe(1))
    await gate.close(anAssignment().actorUid, { drain: 'force', drainMs: 0 })
    const answer = await asked
    expect([answer.status, codeOf(answer.body)]).toEqual([503, 'REQUEST_CUT'])
  })

  test.each([
    ['ended', undefined, 'ACTOR_EXITED'],
    ['with something else than HTTP', 'no HTTP\r\n\r\n', 'UPSTREAM_INVALID'],
  ] as const)('%s: %s %s is 502', async (_what, words, code: ErrorCode) => {
    const server = createServer((socket) => {
      socket.on('error', () => undefined)
      socket.once('data', () => (words === undefined ? socket.destroy() : socket.end(words)))
    })
    raw = server
    server.listen(0, '127.0.0.1')
    await once(server, 'listening')
    place((server.address() as AddressInfo).port)
    const answer = await ask(router)
    expect([answer.status, codeOf(answer.body)]).toEqual([502, code])
  })
})

describe('a request that is none', () => {
  test.each([
    ['no HTTP at all', 'HELLO\r\n\r\n', 400, 'REQUEST_MALFORMED'],
    ['a bad header', 'GET / HTTP/1.1\r\nHost x\r\n\r\n', 400, 'REQUEST_MALFORMED'],
    [
      'length and chunks at once',
      'POST / HTTP/1.1\r\nHost: a.b.actors.localhost\r\nContent-Length: 3\r\nTransfer-Encoding: chunked\r\n\r\n',
      400,
      'REQUEST_MALFORMED',
    ],
    [
      'two Hosts',
      'GET / HTTP/1.1\r\nHost: a.b.actors.localhost\r\nHost: c.d.actors.localhost\r\n\r\n',
      400,
      'REQUEST_MALFORMED',
    ],
    ['no Host', 'GET / HTTP/1.1\r\n\r\n', 400, 'ADDRESS_INVALID'],
    ['CONNECT', 'CONNECT a.b.actors.localhost:80 HTTP/1.1\r\nHost: a\r\n\r\n', 400, 'REQUEST_MALFORMED'],
    ['a name that is no label', get('/', 'A_b.demo.actors.localhost'), 400, 'NAME_INVALID'],
    ['too few labels', get('/', 'demo.actors.localhost'), 400, 'ADDRESS_INVALID'],
    ['a Host of nobody', get('/', 'www.example.org'), 400, 'ADDRESS_INVALID'],
    [
      'too large headers',
      `GET / HTTP/1.1\r\nHost: a\r\nx: ${'y'.repeat(20_000)}\r\n\r\n`,
      431,
      'HEADERS_TOO_LARGE',
    ],
    ['a head that does not end', 'GET / HTTP/1.1\r\nHost: a', 408, 'REQUEST_TIMEOUT'],
  ])('%s', async (_what, words, status, code) => {
    const calls = control.calls.length
    const said = await speak(words)
    expect(said).toMatch(new RegExp(`^HTTP/1\\.1 ${status} `))
    const body = JSON.parse(said.slice(said.indexOf('\r\n\r\n') + 4)) as Record<string, unknown>
    expect(body).toMatchObject({
      code,
      remedy: expect.any(String) as string,
      id: expect.any(String) as string,
    })
    expect(control.calls).toHaveLength(calls)
  })

  test('the router says that it is well, and only on its own Host', async () => {
    const said = await speak(get('/torpor/healthz', '127.0.0.1:80'))
    expect(said).toMatch(/^HTTP\/1\.1 200 [\s\S]*{"status":"ok","parked":0}/)
    control.answer = (ref) => ({ ok: false, error: refuse('ACTOR_UNKNOWN', ref.name) })
    expect(await speak(get('/torpor/healthz', 'a.b.actors.localhost'))).toMatch(/^HTTP\/1\.1 404 /)
  })
})

function get(path: string, host: string): string {
  return `GET ${path} HTTP/1.1\r\nHost: ${host}\r\nConnection: close\r\n\r\n`
}

function post(name: string, body: string): string {
  return `POST / HTTP/1.1\r\nHost: a.${name}.actors.localhost\r\nContent-Length: ${body.length}\r\n\r\n${body}`
}

/** Says something to the router, as it stands, and returns all that it answers: the last answer ends with its JSON. */
async function speak(words: string): Promise<string> {
  const socket = connect(Number(new URL(router.url).port), '127.0.0.1')
  socket.on('error', () => undefined)
  socket.write(words)
  const answersWanted = words.split(' HTTP/1.1\r\n').length - 1 || 1
  let said = ''
  socket.on('data', (chunk) => {
    said += String(chunk)
    const answers = said.split('HTTP/1.1 ').length - 1
    if (answers >= answersWanted && said.endsWith('}\n')) socket.destroy()
  })
  await once(socket, 'close')
  return said
}
