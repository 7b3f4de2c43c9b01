import { once } from 'node:events'
import { createServer } from 'node:net'
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest'
import { isNewEnough } from './connect-link.ts'
import type { NatsAdapter } from './connect-nats.ts'
import { connectNats } from './connect-nats.ts'
import type { TestServer } from './start-test-server.ts'
import { freePort } from '@torpor/adapter-process/test-process'
import { startTestServer } from './start-test-server.ts'

const bytes = (text: string) => new TextEncoder().encode(text)
const text = (data: Uint8Array) => new TextDecoder().decode(data)
const WAIT = { timeout: 10_000, interval: 10 }

describe('the bus on a real server', () => {
  let server: TestServer
  let one: NatsAdapter
  let two: NatsAdapter

  beforeAll(async () => {
    server = await startTestServer()
    one = await connectNats({ url: server.url, name: 'one' })
    two = await connectNats({ url: server.url, name: 'two' })
  })
  afterAll(async () => {
    await Promise.all([one.close(), two.close()])
    await server.stop()
  })

  test('a request is answered with the bytes of the one who serves it, headers reach it', async () => {
    const served = two.bus.subscribe('test.echo', (message, respond) =>
      respond(bytes(`${message.headers['test-name']}:${text(message.data)}`)),
    )
    await vi.waitFor(async () => {
      const answer = await one.bus.request('test.echo', bytes('hi'), {
        timeoutMs: 5_000,
        headers: { 'test-name': 'n' },
      })
      expect(text(answer)).toBe('n:hi')
    }, WAIT)
    served.unsubscribe()
  })

  test('a request that nobody serves fails at once, long before its timeout', async () => {
    const failed = one.bus.request('test.nobody', bytes(''), { timeoutMs: 3_600_000 })
    await expect(failed).rejects.toMatchObject({ code: 'BUS_UNAVAILABLE' })
  })

  test('a request that is not answered ends at its timeout', async () => {
    const served = one.bus.subscribe('test.silent', () => undefined)
    const failed = one.bus.request('test.silent', bytes(''), { timeoutMs: 50 })
    await expect(failed).rejects.toThrow(/no answer in time/)
    served.unsubscribe()
  })

  test('of a queue group one member gets each message', async () => {
    const got: string[] = []
    const members = [one, two].map((nats, index) =>
      nats.bus.subscribe('test.queue', (_, respond) => (got.push(`${index}`), respond(bytes('ok'))), {
        queue: 'workers',
      }),
    )
    await vi.waitFor(() => one.bus.request('test.queue', bytes(''), { timeoutMs: 1_000 }), WAIT)
    got.length = 0
    const asked = Array.from({ length: 50 }, () =>
      one.bus.request('test.queue', bytes(''), { timeoutMs: 5_000 }),
    )
    await Promise.all(asked)
    expect(got).toHaveLength(50)
    members.forEach((member) => member.unsubscribe())
  })

  test('messages of one subscription come in order, and none after it ended', async () => {
    const got: string[] = []
    const served = one.bus.subscribe('test.order', (message) => got.push(text(message.data)))
    const sent = Array.from({ length: 500 }, (_, index) => `${index}`)
    sent.forEach((content) => one.bus.publish('test.order', bytes(content)))
    await vi.waitFor(() => expect(got).toEqual(sent), WAIT)
    served.unsubscribe()
    one.bus.publish('test.order', bytes('late'))
    await expect(one.bus.request('test.order', bytes(''), { timeoutMs: 5_000 })).rejects.toThrow(/nobody/)
    expect(got).toHaveLength(sent.length)
  })

  test('subscriptions and requests go on after a crash of the server', async () => {
    const notices: string[] = []
    const own = await startTestServer()
    const nats = await connectNats({
      url: own.url,
      name: 'crash',
      onNotice: ({ kind }) => notices.push(kind),
    })
    nats.bus.subscribe('test.again', (_, respond) => respond(bytes('yes')))
    nats.bus.subscribe('test.never', () => undefined)
    await nats.bus.request('test.again', bytes(''), { timeoutMs: 5_000 })
    const inFlight = nats.bus.request('test.never', bytes(''), { timeoutMs: 3_600_000 })
    const failed = expect(inFlight).rejects.toMatchObject({ code: 'BUS_UNAVAILABLE' })
    await own.kill()
    await failed
    await expect(nats.bus.request('test.again', bytes(''), { timeoutMs: 3_600_000 })).rejects.toThrow(
      /not connected/,
    )
    await own.restart()
    await vi.waitFor(() => nats.bus.request('test.again', bytes(''), { timeoutMs: 1_000 }), WAIT)
    expect(notices).toEqual(['disconnected', 'reconnected'])
    await nats.close()
    await own.stop()
  })
})

describe('connecting', () => {
  test('a server older than 2.12 is refused in one line that says which it is', async () => {
    const old = createServer((socket) => {
      socket.write('INFO {"server_id":"x","version":"2.10.27","headers":true,"max_payload":1048576}\r\n')
      socket.on('data', (data) => data.includes('PING') && socket.write('PONG\r\n'))
      socket.on('error', () => undefined)
    })
    old.listen(0, '127.0.0.1')
    await once(old, 'listening')
    const address = old.address()
    const port = typeof address === 'object' && address !== null ? address.port : 0
    const refused = await connectNats({ url: `nats://127.0.0.1:${port}`, name: 't' }).catch((e: unknown) => e)
    expect(refused).toMatchObject({ code: 'BUS_TOO_OLD' })
    expect(String(refused)).toMatch(
      /^[^\n]*found nats-server 2\.10\.27[^\n]*install nats-server 2\.12 or newer$/,
    )
    old.close()
  })

  test.for([
    ['2.12.0', true],
    ['2.15.3', true],
    ['3.0.0', true],
    ['2.11.9', false],
    ['1.14.0', false],
    ['', false],
    ['dev', false],
  ] as const)('version %s is new enough: %s', ([version, expected]) => {
    expect(isNewEnough(version)).toBe(expected)
  })

  test('a server that comes late is waited for', async () => {
    const port = await freePort()
    const connecting = connectNats({ url: `nats://127.0.0.1:${port}`, name: 'early', shards: 2 })
    const server = await startTestServer({ port })
    const nats = await connecting
    expect(nats.log.shards).toBe(2)
    expect(nats.info.serverVersion).toMatch(/^\d+\.\d+\.\d+/)
    await nats.close()
    await server.stop()
  })

  test('a wrong password is told apart from a server that is not there', async () => {
    const user = { user: 'a', password: 'right', publish: ['>'], subscribe: ['>'], answersRequests: true }
    const server = await startTestServer({ users: [user] })
    const wrong = connectNats({ url: server.url, name: 't', user: 'a', password: 'wrong' })
    await expect(wrong).rejects.toMatchObject({ code: 'UNAUTHENTICATED' })
    const right = await connectNats({ url: server.url, name: 't', user: 'a', password: 'right' })
    await right.close()
    await server.stop()
  })
})
