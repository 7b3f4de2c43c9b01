import { once } from 'node:events'
import type { ClientRequest, IncomingMessage } from 'node:http'
import { Agent, request } from 'node:http'
import { connect } from 'node:net'
import type { Duplex } from 'node:stream'
import { text } from 'node:stream/consumers'
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest'
import { formatAssignment } from '@torpor/contracts'
import { parseHostPort } from '@torpor/contracts/http'
import type { Gate } from './gate.ts'
import type { SandboxServer } from './gate-world.ts'
import {
  anActor,
  anAssignment,
  ask,
  echoUpgrades,
  signal,
  startSandboxServer,
  startTestGate,
} from './gate-world.ts'

const UID = anAssignment().actorUid
const DRAIN = { drain: 'drain', drainMs: 30_000 } as const

let gate: Gate
let sandbox: SandboxServer
let held: { release: () => void; entered: Promise<void> }

beforeEach(async () => {
  const entered = signal()
  const released = signal()
  held = { release: () => released.give(), entered: entered.promise }
  gate = await startTestGate()
  sandbox = await startSandboxServer(async (incoming, answer) => {
    if (incoming.url === '/held') {
      entered.give()
      await released.promise
    }
    if (incoming.url === '/half') {
      answer.write('half')
      entered.give()
      await released.promise
    }
    if (incoming.method === 'POST') incoming.pipe(answer)
    else answer.end(`hello ${incoming.url}`)
  })
  echoUpgrades(sandbox.server)
  gate.open(anActor(sandbox.port))
})

afterEach(async () => {
  held.release()
  await gate.stop()
  await sandbox.stop()
})

describe('who may enter', () => {
  test('a request with the current assignment reaches the actor', async () => {
    const answer = await ask(gate.address, '/a')
    expect([answer.status, answer.body]).toEqual([200, 'hello /a'])
  })

  test.each([
    ['an older sequence', formatAssignment({ ...anAssignment(), sequence: 0 })],
    ['a newer epoch', formatAssignment({ ...anAssignment(), epoch: 2 })],
    ['another actor', formatAssignment({ ...anAssignment(), actorUid: UID.replace(/1$/, '2') })],
    ['no assignment at all', 'x'],
  ])('%s is answered 421 and reaches nobody', async (_what, assignment) => {
    const answer = await ask(gate.address, '/', { headers: { 'torpor-assignment': assignment } })
    expect(answer.status).toBe(421)
    expect(JSON.parse(answer.body)).toMatchObject({ code: 'ASSIGNMENT_STALE' })
    expect(sandbox.accepted()).toBe(0)
  })

  test('421 comes before a byte of the body is read', async () => {
    const socket = connect(parseHostPort(gate.address))
    const head = `POST / HTTP/1.1\r\nHost: x\r\ntorpor-assignment: x\r\nContent-Length: 1000000\r\n`
    socket.write(`${head}Expect: 100-continue\r\n\r\n`)
    const chunks: Buffer[] = []
    for await (const chunk of socket) chunks.push(chunk as Buffer)
    const said = Buffer.concat(chunks).toString()
    expect(said).toMatch(/^HTTP\/1\.1 421 /)
    expect(said).not.toContain('100 Continue')
    // The connection is over, so what the client did not send can never be taken for a request.
    expect(said.toLowerCase()).toContain('connection: close')
  })

  test('a frozen gate answers 421 until it thaws', async () => {
    gate.freeze()
    expect((await ask(gate.address, '/')).status).toBe(421)
    gate.thaw()
    expect((await ask(gate.address, '/')).status).toBe(200)
  })

  test('a new assignment shuts the old one out', async () => {
    gate.open(anActor(sandbox.port, { assignment: anAssignment(2) }))
    expect((await ask(gate.address, '/')).status).toBe(421)
    expect((await ask(gate.address, '/', { assignment: anAssignment(2) })).status).toBe(200)
  })

  test('a removed actor is answered 421', async () => {
    gate.remove(UID)
    expect((await ask(gate.address, '/')).status).toBe(421)
  })

  test('a port that the actor does not have is refused', async () => {
    const answer = await ask(gate.address, '/', { headers: { 'torpor-target-port': '1' } })
    expect([answer.status, JSON.parse(answer.body).code]).toEqual([400, 'ADDRESS_INVALID'])
  })

  test('more open requests than the limit are refused', async () => {
    const small = await startTestGate({ gateOpenRequestsPerActorMax: 1 })
    small.open(anActor(sandbox.port))
    const first = ask(small.address, '/held')
    await held.entered
    expect((await ask(small.address, '/')).status).toBe(503)
    held.release()
    expect((await first).status).toBe(200)
    await small.stop()
  })
})

describe('closing', () => {
  test('drain waits for the open request, refuses new ones, and leaves no connection', async () => {
    const open = ask(gate.address, '/held')
    await held.entered
    const closing = gate.close(UID, DRAIN)
    expect((await ask(gate.address, '/')).status).toBe(421)
    expect(gate.openCount(UID)).toBe(1)
    held.release()
    expect((await open).body).toBe('hello /held')
    expect(await closing).toEqual({ kind: 'drained', cut: 0 })
    await vi.waitFor(() => expect(sandbox.sockets.size).toBe(0))
  })

  test('drain cuts what is left when its time is over', async () => {
    const open = ask(gate.address, '/held')
    await held.entered
    expect(await gate.close(UID, { drain: 'drain', drainMs: 20 })).toEqual({ kind: 'drained', cut: 1 })
    const answer = await open
    expect([answer.status, JSON.parse(answer.body).code]).toEqual([503, 'REQUEST_CUT'])
    await vi.waitFor(() => expect(sandbox.sockets.size).toBe(0))
  })

  test('refuse changes nothing while a request is open', async () => {
    const open = ask(gate.address, '/held')
    await held.entered
    expect(await gate.close(UID, { drain: 'refuse', drainMs: 0 })).toEqual({ kind: 'refused', open: 1 })
    expect((await ask(gate.address, '/')).status).toBe(200)
    held.release()
    expect((await open).status).toBe(200)
    expect(await gate.close(UID, { drain: 'refuse', drainMs: 0 })).toEqual({ kind: 'drained', cut: 0 })
  })

  test('force resets an answer that has begun', async () => {
    const answer = await begin('/half')
    const failed = expect(text(answer)).rejects.toThrow('aborted')
    expect(await gate.close(UID, { drain: 'force', drainMs: 0 })).toEqual({ kind: 'drained', cut: 1 })
    await failed
    await vi.waitFor(() => expect(sandbox.sockets.size).toBe(0))
  })

  test('force overtakes a drain that waits', async () => {
    const open = ask(gate.address, '/held')
    await held.entered
    const draining = gate.close(UID, DRAIN)
    expect(await gate.close(UID, { drain: 'force', drainMs: 0 })).toMatchObject({ kind: 'drained' })
    expect(await draining).toMatchObject({ kind: 'drained' })
    expect((await open).status).toBe(503)
  })

  test('a kept-alive connection to the sandbox is closed, and the clients of the gate keep theirs', async () => {
    const agent = new Agent({ keepAlive: true, maxSockets: 1 })
    await ask(gate.address, '/', { agent })
    expect(sandbox.sockets.size).toBe(1)
    await gate.close(UID, DRAIN)
    await vi.waitFor(() => expect(sandbox.sockets.size).toBe(0))
    expect((await ask(gate.address, '/', { agent })).status).toBe(421)
    gate.reopen(UID)
    expect((await ask(gate.address, '/', { agent })).status).toBe(200)
    expect(Object.values(agent.freeSockets).flat()).toHaveLength(1)
    agent.destroy()
  })

  test('an upgraded socket counts as open until it is cut', async () => {
    const socket = await upgrade()
    expect(gate.openCount(UID)).toBe(1)
    expect(gate.idleMs(UID)).toBe(0)
    const over = new Promise((resolve) => socket.once('close', resolve))
    expect(await gate.close(UID, { drain: 'force', drainMs: 0 })).toEqual({ kind: 'drained', cut: 1 })
    await over
    await vi.waitFor(() => expect(sandbox.sockets.size).toBe(0))
  })

  test('a gate that is opened again while it drains says so', async () => {
    const open = ask(gate.address, '/held')
    await held.entered
    const closing = gate.close(UID, DRAIN)
    gate.reopen(UID)
    held.release()
    await open
    expect(await closing).toMatchObject({ kind: 'refused' })
    expect((await ask(gate.address, '/')).status).toBe(200)
  })

  test('closing an actor that is unknown or closed already is drained', async () => {
    expect(await gate.close('nobody', DRAIN)).toEqual({ kind: 'drained', cut: 0 })
    await gate.close(UID, DRAIN)
    expect(await gate.close(UID, DRAIN)).toEqual({ kind: 'drained', cut: 0 })
  })
})

describe('counting', () => {
  test('open requests and idle time are exact', async () => {
    const open = ask(gate.address, '/held')
    await held.entered
    expect([gate.openCount(UID), gate.idleMs(UID)]).toEqual([1, 0])
    held.release()
    await open
    await vi.waitFor(() => expect(gate.openCount(UID)).toBe(0))
    await vi.waitFor(() => expect(gate.idleMs(UID)).toBeGreaterThan(0))
  })

  test('a client that goes away ends its request at the actor', async () => {
    const gone = signal()
    sandbox.server.on('request', (incoming) => incoming.once('close', () => gone.give()))
    const outgoing = start('/held')
    await held.entered
    outgoing.destroy()
    await gone.promise
    await vi.waitFor(() => expect(gate.openCount(UID)).toBe(0))
  })

  test('removing an actor tells who is inside that it ended', async () => {
    const open = ask(gate.address, '/held')
    await held.entered
    gate.remove(UID)
    const answer = await open
    expect([answer.status, JSON.parse(answer.body).code]).toEqual([502, 'ACTOR_EXITED'])
  })
})

/** Starts a request as a router would. */
function start(path: string, headers: Record<string, string> = {}): ClientRequest {
  const assignment = { 'torpor-assignment': formatAssignment(anAssignment()) }
  const outgoing = request({
    ...parseHostPort(gate.address),
    path,
    headers: { ...assignment, ...headers },
  })
  outgoing.on('error', () => undefined)
  outgoing.end()
  return outgoing
}

/** Resolves with the head of the answer. */
async function begin(path: string): Promise<IncomingMessage> {
  const [answer] = (await once(start(path), 'response')) as [IncomingMessage]
  return answer
}

async function upgrade(): Promise<Duplex> {
  const asking = { connection: 'Upgrade', upgrade: 'websocket', 'sec-websocket-key': 'x' }
  const [, socket] = (await once(start('/ws', asking), 'upgrade')) as [IncomingMessage, Duplex]
  socket.on('error', () => undefined)
  return socket
}
