import { once } from 'node:events'
import type { ClientRequest, IncomingMessage } from 'node:http'
import { request } from 'node:http'
import type { AddressInfo, Server } from 'node:net'
import { connect, createServer } from 'node:net'
import type { Duplex } from 'node:stream'
import { Readable } from 'node:stream'
import { text } from 'node:stream/consumers'
import { Worker } from 'node:worker_threads'
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

let gate: Gate
let sandbox: SandboxServer
let seen: IncomingMessage[]

beforeEach(async () => {
  seen = []
  gate = await startTestGate()
  sandbox = await startSandboxServer((incoming, answer) => {
    seen.push(incoming)
    if (incoming.url === '/events') {
      answer.writeHead(200, { 'content-type': 'text/event-stream' })
      return answer.flushHeaders()
    }
    if (incoming.url === '/trailers') {
      answer.writeHead(200, { trailer: 'x-sum' })
      incoming.on('data', (chunk) => answer.write(chunk))
      return incoming.on('end', () => {
        answer.addTrailers({ 'x-sum': String(incoming.trailers['x-in']) })
        answer.end()
      })
    }
    return incoming.pipe(answer)
  })
  sandbox.server.on('checkContinue', (incoming, answer) => {
    seen.push(incoming)
    if (incoming.url === '/reject') return answer.writeHead(413).end('too much')
    answer.writeContinue()
    return incoming.pipe(answer)
  })
  echoUpgrades(sandbox.server)
  gate.open(anActor(sandbox.port))
})

afterEach(async () => {
  await gate.stop()
  await sandbox.stop()
})

describe('what passes', () => {
  test('the head of an event stream arrives before its first event', async () => {
    const [answer] = await once(start({ path: '/events' }).end(), 'response')
    expect((answer as IncomingMessage).headers['content-type']).toBe('text/event-stream')
    ;(answer as IncomingMessage).destroy()
  })

  test('trailers pass in both directions', async () => {
    const outgoing = start({
      path: '/trailers',
      method: 'POST',
      headers: { trailer: 'x-in', te: 'trailers' },
    })
    outgoing.write('abc')
    outgoing.addTrailers({ 'x-in': '42' })
    outgoing.end()
    const [answer] = (await once(outgoing, 'response')) as [IncomingMessage]
    expect(await text(answer)).toBe('abc')
    expect(answer.trailers).toEqual({ 'x-sum': '42' })
    expect(seen[0]?.headers.te).toBe('trailers')
  })

  test('headers of one hop and headers of ours stop here, the others pass as they were written', async () => {
    await ask(gate.address, '/a?b=%20c', {
      headers: {
        'X-Two': 'one, two',
        connection: 'x-hop',
        'x-hop': '1',
        'keep-alive': '9',
        host: 'a.b.example',
      },
    })
    const names = seen[0]?.rawHeaders.filter((_value, index) => index % 2 === 0)
    expect(names).toEqual(['X-Two', 'host', 'Connection'])
    expect(seen[0]?.headers.host).toBe('a.b.example')
    expect(seen[0]?.url).toBe('/a?b=%20c')
  })

  test('repeated headers of an answer stay apart', async () => {
    const cookies = await startSandboxServer((_incoming, answer) => {
      answer.writeHead(200, ['Set-Cookie', 'a=1', 'Set-Cookie', 'b=2'])
      answer.end()
    })
    gate.open(anActor(cookies.port))
    const { message } = await ask(gate.address, '/')
    expect(message.headers['set-cookie']).toEqual(['a=1', 'b=2'])
    await cookies.stop()
  })

  test('a WebSocket goes both ways and closes with its client', async () => {
    const outgoing = start({ path: '/ws', headers: { connection: 'Upgrade', upgrade: 'websocket' } }).end()
    const [answer, socket] = (await once(outgoing, 'upgrade')) as [IncomingMessage, Duplex]
    expect(answer.headers['sec-websocket-accept']).toBeDefined()
    socket.write('ping')
    expect(String((await once(socket, 'data'))[0])).toBe('ping')
    socket.destroy()
    await vi.waitFor(() => expect(gate.openCount(UID)).toBe(0))
    await vi.waitFor(() => expect(sandbox.sockets.size).toBe(0))
  })

  test('an upgrade that the actor declines is an ordinary answer', async () => {
    const plain = await startSandboxServer((_incoming, answer) => answer.writeHead(426).end('no'))
    gate.open(anActor(plain.port))
    const asked = { connection: 'Upgrade', upgrade: 'websocket' }
    const [answer] = (await once(start({ path: '/', headers: asked }).end(), 'response')) as [IncomingMessage]
    expect([answer.statusCode, await text(answer)]).toEqual([426, 'no'])
    await plain.stop()
  })

  test.each([
    ['HEAD', 200],
    ['GET', 204],
    ['GET', 304],
  ])('an answer without a body to %s %i keeps its headers', async (method, status) => {
    const quiet = await startSandboxServer((_incoming, answer) => {
      answer.writeHead(status, { etag: '"1"', ...(method === 'HEAD' ? { 'content-length': '5' } : {}) }).end()
    })
    gate.open(anActor(quiet.port))
    const { message, body } = await ask(gate.address, '/', { method })
    expect([message.statusCode, message.headers.etag, body]).toEqual([status, '"1"', ''])
    expect(message.headers['content-length']).toBe(method === 'HEAD' ? '5' : undefined)
    await quiet.stop()
  })

  test('an actor cannot pass its answer off as one of the gate', async () => {
    const liar = await startSandboxServer((_incoming, answer) => {
      answer.writeHead(421, { 'torpor-error': 'ASSIGNMENT_STALE' }).end('mine')
    })
    gate.open(anActor(liar.port))
    const { message } = await ask(gate.address, '/')
    expect([message.statusCode, message.headers['torpor-error']]).toEqual([421, undefined])
    await liar.stop()
  })

  test('a connection that is idle too long is closed, and one in use is not', async () => {
    const small = await startTestGate({ gateIdleConnectionMs: 20 })
    const released = signal()
    const idle = await startSandboxServer(async (incoming, answer) => {
      if (incoming.url === '/held') await released.promise
      answer.end('whole')
    })
    small.open(anActor(idle.port))
    await ask(small.address, '/')
    await vi.waitFor(() => expect(idle.sockets.size).toBe(0))
    const [first, second] = [ask(small.address, '/held'), ask(small.address, '/')]
    await second
    await vi.waitFor(() => expect(idle.sockets.size).toBe(1))
    released.give()
    expect((await first).body).toBe('whole')
    await small.stop()
    await idle.stop()
  })

  test('idle connections to the sandbox are used again', async () => {
    for (let index = 0; index < 5; index += 1) await ask(gate.address, '/')
    expect(sandbox.accepted()).toBe(1)
  })
})

describe('100 Continue', () => {
  test('the gate itself says it when the client did not ask the actor', async () => {
    const outgoing = start({ method: 'POST', headers: { expect: '100-continue', 'content-length': '2' } })
    outgoing.flushHeaders()
    await once(outgoing, 'continue')
    outgoing.end('ok')
    const [answer] = (await once(outgoing, 'response')) as [IncomingMessage]
    expect(await text(answer)).toBe('ok')
    expect(seen[0]?.headers.expect).toBeUndefined()
  })

  test('the actor says it when the client asked', async () => {
    const outgoing = start({ method: 'POST', headers: asksActor('2') })
    outgoing.flushHeaders()
    await once(outgoing, 'continue')
    expect(seen[0]?.headers.expect).toBe('100-continue')
    outgoing.end('ok')
    const [answer] = (await once(outgoing, 'response')) as [IncomingMessage]
    expect(await text(answer)).toBe('ok')
  })

  test('an actor that rejects the head is never sent the body', async () => {
    const outgoing = start({ method: 'POST', path: '/reject', headers: asksActor('1000000') })
    outgoing.flushHeaders()
    const [answer] = (await once(outgoing, 'response')) as [IncomingMessage]
    expect([answer.statusCode, await text(answer)]).toEqual([413, 'too much'])
    expect(answer.headers.connection).toBe('close')
    await vi.waitFor(() => expect(gate.openCount(UID)).toBe(0))
  })
})

describe('actors that fail', () => {
  let raw: Server | undefined
  afterEach(() => void raw?.close())

  const speak = async (answer: string | undefined): Promise<number> => {
    const server = createServer((socket) => {
      socket.on('error', () => undefined)
      if (answer === undefined) return socket.destroy()
      return socket.once('data', () => socket.end(answer))
    })
    raw = server
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', () => resolve()))
    const { port } = server.address() as AddressInfo
    gate.open(anActor(port))
    return port
  }

  test.each([
    ['nobody listens', 'gone', 502, 'ACTOR_EXITED'],
    ['the connection breaks before an answer', undefined, 502, 'ACTOR_EXITED'],
    ['the answer is not HTTP', 'SSH-2.0-x\r\n', 502, 'UPSTREAM_INVALID'],
  ])('%s', async (_what, answer, status, code) => {
    await speak(answer)
    if (answer === 'gone') await new Promise((resolve) => raw?.close(resolve))
    const { status: got, body } = await ask(gate.address, '/')
    expect([got, JSON.parse(body).code]).toEqual([status, code])
    expect(gate.openCount(UID)).toBe(0)
  })

  test('a port that nobody listens on is named', async () => {
    const port = await speak('gone')
    await new Promise((resolve) => raw?.close(resolve))
    gate.open(anActor(sandbox.port, { ports: [port] }))
    const { body } = await ask(gate.address, '/', { headers: { 'torpor-target-port': String(port) } })
    expect(JSON.parse(body)).toMatchObject({ code: 'UPSTREAM_INVALID', id: 'demo/counter' })
    expect(JSON.parse(body).message).toContain(`port ${port}`)
  })

  test('an answer that breaks off in its middle breaks off for the client', async () => {
    await speak('HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nhalf')
    await expect(ask(gate.address, '/')).rejects.toThrow(/aborted|ECONNRESET/)
  })

  test('an idle connection that the actor has closed costs a reader nothing', async () => {
    await ask(gate.address, '/')
    sandbox.server.closeIdleConnections()
    expect((await ask(gate.address, '/')).status).toBe(200)
  })
})

test('a body of 100 MB is not gathered: it stops at the sender while the actor does not read', async () => {
  const reading = signal()
  const slow = await startSandboxServer(async (incoming, answer) => {
    await reading.promise
    incoming.pipe(answer)
  })
  gate.open(anActor(slow.port))
  const chunk = Buffer.alloc(1024 * 1024, 7)
  let sent = 0
  const body = new Readable({
    highWaterMark: 1,
    read() {
      sent += 1
      this.push(sent > 100 ? null : chunk)
    },
  })
  const outgoing = start({ method: 'POST' })
  const answered = once(outgoing, 'response')
  body.pipe(outgoing)
  let before = -1
  await vi.waitFor(() => {
    const still = sent > 0 && sent === before
    before = sent
    expect(still).toBe(true)
  })
  // What is on the way lies in the buffers of the kernel.
  expect(sent).toBeLessThan(60)
  reading.give()
  const [answer] = (await answered) as [IncomingMessage]
  let received = 0
  for await (const part of answer) received += (part as Buffer).length
  expect(received).toBe(100 * chunk.length)
  await slow.stop()
})

test('a connect() in flight ends before the door is closed', async () => {
  const { port, terminate } = await startDeafListener()
  const small = await startTestGate({ gateConnectTimeoutMs: 200 })
  small.open(anActor(port))
  const asked = ask(small.address, '/')
  await vi.waitFor(() => expect(small.openCount(UID)).toBe(1))
  const outcome = await small.close(UID, { drain: 'force', drainMs: 0 })
  expect(outcome).toEqual({ kind: 'drained', cut: 1 })
  const answer = await asked
  expect([answer.status, JSON.parse(answer.body).code]).toEqual([503, 'REQUEST_CUT'])
  await small.stop()
  await terminate()
})

/** A listener that never accepts and whose queue is full: a connect() to it stays in flight. */
async function startDeafListener(): Promise<{ port: number; terminate: () => Promise<void> }> {
  const deaf = new Worker(
    `const { parentPort } = require('node:worker_threads')
    const server = require('node:net').createServer()
    server.listen({ port: 0, host: '127.0.0.1', backlog: 1 }, () => {
      parentPort.postMessage(server.address().port)
      setImmediate(() => Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0))
    })`,
    { eval: true },
  )
  const [port] = (await once(deaf, 'message')) as [number]
  const fillers = [1, 2, 3, 4].map(() => connect(port, '127.0.0.1').on('error', () => undefined))
  await vi.waitFor(() => expect(fillers.filter((filler) => !filler.connecting).length).toBeGreaterThan(1))
  return {
    port,
    terminate: async () => {
      for (const filler of fillers) filler.destroy()
      await deaf.terminate()
    },
  }
}

const asksActor = (length: string): Record<string, string> => ({
  expect: '100-continue',
  'torpor-client-expects': '1',
  'content-length': length,
})

function start(options: {
  path?: string
  method?: string
  headers?: Record<string, string>
}): ClientRequest & { end(): ClientRequest } {
  const headers = { 'torpor-assignment': formatAssignment(anAssignment()), ...options.headers }
  const outgoing = request({ ...parseHostPort(gate.address), ...options, headers })
  outgoing.on('error', () => undefined)
  return outgoing
}
