import { once } from 'node:events'
import type { IncomingMessage } from 'node:http'
import { Agent } from 'node:http'
import type { Duplex } from 'node:stream'
import { Readable } from 'node:stream'
import { text } from 'node:stream/consumers'
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest'
import type { Gate } from '../node-agent/gate/gate.ts'
import type { SandboxServer } from '../node-agent/gate/gate-world.ts'
import {
  anActor,
  anAssignment,
  echoUpgrades,
  signal,
  startSandboxServer,
  startTestGate,
} from '../node-agent/gate/gate-world.ts'
import type { Router } from './router.ts'
import type { ControlSide } from './router-world.ts'
import { aControlSide, ask, begin, startTestRouter } from './router-world.ts'

const UID = anAssignment().actorUid
const DRAIN = { drain: 'drain', drainMs: 30_000 } as const

let gate: Gate
let sandbox: SandboxServer
let control: ControlSide
let router: Router
let seen: IncomingMessage[]
let held: { release: () => void; entered: Promise<void> }
let sequence: number

/** A new execution of the actor, as a wake makes it. */
function wakeUp() {
  sequence += 1
  gate.open(anActor(sandbox.port, { assignment: anAssignment(sequence) }))
  return { ok: true, result: { assignment: anAssignment(sequence), gateAddress: gate.address } } as const
}

beforeEach(async () => {
  const entered = signal()
  const released = signal()
  held = { release: () => released.give(), entered: entered.promise }
  seen = []
  sequence = 0
  gate = await startTestGate()
  sandbox = await startSandboxServer(async (incoming, answer) => {
    seen.push(incoming)
    if (incoming.url === '/held') {
      entered.give()
      await released.promise
    }
    if (incoming.url === '/421') return answer.writeHead(421).end('mine')
    if (incoming.method === 'POST') return incoming.pipe(answer)
    return answer.end(`hello ${incoming.url}`)
  })
  echoUpgrades(sandbox.server)
  control = aControlSide(wakeUp)
  router = await startTestRouter(control)
})

afterEach(async () => {
  held.release()
  await router.stop()
  await gate.stop()
  await sandbox.stop()
})

describe('finding the actor', () => {
  test('100 requests at once make one wake', async () => {
    const { promise, give } = signal()
    control.answer = async () => {
      await promise
      return wakeUp()
    }
    const all = Array.from({ length: 100 }, (_none, index) => ask(router, { path: `/${index}` }))
    await vi.waitFor(() => expect(router.parked).toBe(100))
    give()
    expect((await Promise.all(all)).map(({ body }) => body)).toEqual(
      Array.from({ length: 100 }, (_none, index) => `hello /${index}`),
    )
    expect(control.calls).toHaveLength(1)
  })

  test('a known route needs no wake', async () => {
    for (let index = 0; index < 5; index += 1) await ask(router)
    expect(control.calls).toHaveLength(1)
  })

  test('the header addresses an actor, too', async () => {
    const headers = { host: 'www.example.org', 'torpor-target-actor': 'demo/counter' }
    expect((await ask(router, { headers })).status).toBe(200)
    expect(seen[0]?.headers.host).toBe('www.example.org')
    expect(seen[0]?.headers['torpor-target-actor']).toBeUndefined()
  })

  test("a client's own assignment is not believed", async () => {
    await ask(router)
    const answer = await ask(router, { headers: { 'torpor-assignment': `${UID}.9.9` } })
    expect([answer.status, control.calls.length]).toEqual([200, 1])
  })

  test('the target port reaches the gate, which knows the ports of the actor', async () => {
    const answer = await ask(router, { headers: { 'torpor-target-port': '9' } })
    expect([answer.status, JSON.parse(answer.body).code]).toEqual([400, 'ADDRESS_INVALID'])
  })

  test('the actor learns for whom it answers', async () => {
    await ask(router, { headers: { 'x-forwarded-for': '10.0.0.9' } })
    const { headers } = seen[0] ?? {}
    expect(headers?.['x-forwarded-for']).toBe('10.0.0.9, 127.0.0.1')
    expect(headers?.forwarded).toBe('for=127.0.0.1;host=counter.demo.actors.localhost;proto=http')
  })
})

describe('an actor that moves', () => {
  test('is found again after its gate closed, on the same client connection', async () => {
    const agent = new Agent({ keepAlive: true, maxSockets: 1 })
    await ask(router, { agent })
    await gate.close(UID, DRAIN)
    const answer = await ask(router, { agent })
    expect([answer.status, control.calls.length, sequence]).toEqual([200, 2, 2])
    expect(Object.values(agent.freeSockets).flat()).toHaveLength(1)
    agent.destroy()
  })

  test('a request with a body is sent to the new place whole', async () => {
    await ask(router)
    await gate.close(UID, DRAIN)
    const answer = await ask(router, { method: 'POST', body: 'once and only once' })
    expect(answer.body).toBe('once and only once')
    expect(seen.filter(({ method }) => method === 'POST')).toHaveLength(1)
  })

  test('is found again when its node is gone', async () => {
    await ask(router)
    await gate.stop()
    gate = await startTestGate()
    const answer = await ask(router, { method: 'POST', body: 'x' })
    expect([answer.status, answer.body]).toEqual([200, 'x'])
  })

  test('a request waits for a gate that starts anew with the same execution', async () => {
    await ask(router)
    const { address } = gate
    await gate.stop()
    control.answer = () => ({
      ok: true,
      result: { assignment: anAssignment(sequence), gateAddress: address },
    })
    const waiting = ask(router)
    await vi.waitFor(() => expect(control.calls.length).toBeGreaterThan(2))
    const { startGate } = await import('../node-agent/gate/gate.ts')
    const { systemClock } = await import('@torpor/contracts')
    gate = await startGate({ listen: address, clock: systemClock })
    gate.open(anActor(sandbox.port, { assignment: anAssignment(sequence) }))
    expect((await waiting).status).toBe(200)
  })

  test('requests that come while it is drained are parked and served after its next wake', async () => {
    const open = ask(router, { path: '/held' })
    await held.entered
    const closing = gate.close(UID, DRAIN)
    control.answer = () => ({
      ok: false,
      error: {
        code: 'ACTOR_STATE_CONFLICT',
        id: 'demo/counter',
        message: '',
        remedy: '',
        retry: 'later',
        detail: 'ACTOR_STATE_SUSPENDING',
      },
    })
    const waiting = ask(router)
    await vi.waitFor(() => expect(router.parked).toBe(1))
    held.release()
    expect((await open).status).toBe(200)
    expect(await closing).toEqual({ kind: 'drained', cut: 0 })
    expect(sandbox.sockets.size).toBe(0)
    control.answer = wakeUp
    expect((await waiting).status).toBe(200)
  })

  test("an actor's own 421 is its answer", async () => {
    const answer = await ask(router, { path: '/421' })
    expect([answer.status, answer.body, control.calls.length]).toEqual([421, 'mine', 1])
  })
})

describe('what passes', () => {
  test('a WebSocket is joined through router and gate, after a wake', async () => {
    const outgoing = begin(router, { path: '/ws', headers: { connection: 'Upgrade', upgrade: 'websocket' } })
    outgoing.end()
    const [, socket] = (await once(outgoing, 'upgrade')) as [IncomingMessage, Duplex]
    socket.on('error', () => undefined)
    socket.write('ping')
    expect(String((await once(socket, 'data'))[0])).toBe('ping')
    expect(gate.openCount(UID)).toBe(1)
    const over = new Promise((resolve) => socket.once('close', resolve))
    await gate.close(UID, { drain: 'force', drainMs: 0 })
    await over
  })

  test('a WebSocket finds an actor that has moved', async () => {
    await ask(router)
    await gate.close(UID, DRAIN)
    const outgoing = begin(router, { path: '/ws', headers: { connection: 'Upgrade', upgrade: 'websocket' } })
    outgoing.end()
    const [, socket] = (await once(outgoing, 'upgrade')) as [IncomingMessage, Duplex]
    socket.destroy()
    await vi.waitFor(() => expect(gate.openCount(UID)).toBe(0))
  })

  test('a body of 100 MB comes back whole', async () => {
    const chunk = Buffer.alloc(1024 * 1024, 7)
    const outgoing = begin(router, { method: 'POST' })
    const answered = once(outgoing, 'response')
    Readable.from(Array.from({ length: 100 }, () => chunk)).pipe(outgoing)
    const [answer] = (await answered) as [IncomingMessage]
    let received = 0
    for await (const part of answer) received += (part as Buffer).length
    expect(received).toBe(100 * chunk.length)
  })

  test('`Expect: 100-continue` is answered only after the actor was found', async () => {
    sandbox.server.on('checkContinue', (incoming, answer) => {
      answer.writeContinue()
      incoming.pipe(answer)
    })
    const headers = { expect: '100-continue', 'content-length': '2' }
    const outgoing = begin(router, { method: 'POST', headers })
    outgoing.flushHeaders()
    await once(outgoing, 'continue')
    outgoing.end('ok')
    const [answer] = (await once(outgoing, 'response')) as [IncomingMessage]
    expect(await text(answer)).toBe('ok')
  })

  test('a client that goes away while it is parked leaves the lot', async () => {
    control.answer = () => new Promise(() => undefined)
    const outgoing = begin(router)
    outgoing.end()
    await vi.waitFor(() => expect(router.parked).toBe(1))
    outgoing.destroy()
    await vi.waitFor(() => expect(router.parked).toBe(0))
  })

  test('a client that goes away ends its request at the actor', async () => {
    const outgoing = begin(router, { path: '/held' })
    outgoing.end()
    await held.entered
    outgoing.destroy()
    await vi.waitFor(() => expect(gate.openCount(UID)).toBe(0))
  })
})

test('one gate and three routers: the count of open requests is exact, and the drain sees all', async () => {
  const others = [await startTestRouter(control), await startTestRouter(control)]
  await ask(router)
  control.answer = () => ({
    ok: true,
    result: { assignment: anAssignment(sequence), gateAddress: gate.address },
  })
  const open = [router, ...others].map((each) => ask(each, { path: '/held' }))
  await vi.waitFor(() => expect(gate.openCount(UID)).toBe(3))
  expect(await gate.close(UID, { drain: 'refuse', drainMs: 0 })).toEqual({ kind: 'refused', open: 3 })
  const closing = gate.close(UID, DRAIN)
  held.release()
  expect((await Promise.all(open)).map(({ status }) => status)).toEqual([200, 200, 200])
  expect(await closing).toEqual({ kind: 'drained', cut: 0 })
  await vi.waitFor(() => expect(sandbox.sockets.size).toBe(0))
  const woken = wakeUp()
  control.answer = () => woken
  const again = await Promise.all([router, ...others].map((each) => ask(each)))
  expect(again.map(({ status }) => status)).toEqual([200, 200, 200])
  await Promise.all(others.map((each) => each.stop()))
})

describe('stopping', () => {
  test('lets the open request end, and takes no new connection', async () => {
    const open = ask(router, { path: '/held' })
    await held.entered
    const stopping = router.stop()
    await expect(ask(router, { agent: new Agent() })).rejects.toThrow('ECONNREFUSED')
    held.release()
    expect((await open).status).toBe(200)
    await stopping
  })

  test('cuts what does not end in its time', async () => {
    const hasty = await startTestRouter(control, { routerDrainMs: 10 })
    const open = ask(hasty, { path: '/held' })
    const failed = expect(open).rejects.toThrow()
    await held.entered
    await hasty.stop()
    await failed
  })
})

test('an answer that comes before the whole body does not hold up its connection', async () => {
  const early = await startSandboxServer((incoming, answer) => {
    answer.writeHead(413, { connection: 'close' }).end('enough')
    incoming.destroy()
  })
  gate.open(anActor(early.port, { assignment: anAssignment(1) }))
  control.answer = () => ({
    ok: true,
    result: { assignment: anAssignment(1), gateAddress: gate.address },
  })
  const agent = new Agent({ keepAlive: true, maxSockets: 1 })
  const outgoing = begin(router, { method: 'POST', agent })
  outgoing.write('first')
  const [answer] = (await once(outgoing, 'response')) as [IncomingMessage]
  outgoing.end('the rest')
  expect([answer.statusCode, await text(answer)]).toEqual([413, 'enough'])
  gate.open(anActor(sandbox.port, { assignment: anAssignment(1) }))
  expect((await ask(router, { agent })).status).toBe(200)
  agent.destroy()
  await early.stop()
})
