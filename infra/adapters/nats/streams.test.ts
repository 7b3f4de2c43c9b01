import type { DurableCommand, FeedEvent } from '@torpor/contracts'
import { ALL, actorRef, BUCKETS, STREAMS, SUBJECTS } from '@torpor/contracts'
import type { StreamConfig } from '@nats-io/jetstream'
import { jetstreamManager } from '@nats-io/jetstream'
import { Kvm } from '@nats-io/kv'
import type { NatsConnection } from '@nats-io/transport-node'
import { connect } from '@nats-io/transport-node'
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest'
import type { NatsAdapter } from './connect-nats.ts'
import { connectNats } from './connect-nats.ts'
import type { TestServer } from './start-test-server.ts'
import { startTestServer } from './start-test-server.ts'

const WAIT = { timeout: 20_000, interval: 20 }
const bytes = (text: string) => new TextEncoder().encode(text)
const event = (name: string) => SUBJECTS.event({ atespace: 'demo', name })

let server: TestServer
let nats: NatsAdapter
let plain: NatsConnection

beforeEach(async () => {
  server = await startTestServer()
  nats = await connectNats({ url: server.url, name: 'streams-test', shards: 2 })
  plain = await connect({ servers: server.url, maxReconnectAttempts: -1, reconnectTimeWait: 50 })
})
afterEach(async () => {
  await Promise.all([nats.close(), plain.close()])
  await server.stop()
})

async function configs(): Promise<Record<string, StreamConfig>> {
  const manager = await jetstreamManager(plain, { timeout: 1_000 })
  const found: Record<string, StreamConfig> = {}
  for await (const { config } of manager.streams.list()) found[config.name] = config
  return found
}

/** Collects until there are `count`; what comes is in `seen` meanwhile. */
function collect<Item>(items: AsyncIterable<Item>): { seen: Item[]; done: Promise<void> } {
  const seen: Item[] = []
  const done = (async () => {
    for await (const item of items) seen.push(item)
  })()
  return { seen, done }
}

describe('the streams of a system', () => {
  test('are made as the design says', async () => {
    const made = await configs()
    expect(Object.keys(made).sort()).toEqual(
      ['COMMANDS', 'EVENTS', 'KV_SHARDS', 'LOG_0', 'LOG_1', 'NODE_COMMANDS', 'REPORTS'].sort(),
    )
    expect(made['LOG_0']).toMatchObject({
      subjects: [SUBJECTS.log(0)],
      retention: 'limits',
      storage: 'file',
      deny_delete: true,
      deny_purge: false,
      max_age: 0,
      max_bytes: -1,
    })
    expect(made['EVENTS']).toMatchObject({ persist_mode: 'async', num_replicas: 1, discard: 'old' })
    expect(made['COMMANDS']).toMatchObject({ storage: 'file', max_age: 86_400_000_000_000 })
    for (const name of [STREAMS.nodeCommands, STREAMS.reports]) {
      expect(made[name]).toMatchObject({ storage: 'memory', no_ack: true })
    }
  })

  test('an existing system keeps its number of shards, and making it again changes nothing', async () => {
    const before = await configs()
    const many = await Promise.all(
      [4, 8, 2].map((shards) => connectNats({ url: server.url, name: 'again', shards })),
    )
    expect(many.map(({ log }) => log.shards)).toEqual([2, 2, 2])
    expect(await configs()).toEqual(before)
    await Promise.all(many.map((other) => other.close()))
  })

  test('those in memory are made again after a crash of the server', async () => {
    await server.kill()
    await server.restart()
    await vi.waitFor(async () => {
      expect(Object.keys(await configs())).toEqual(
        expect.arrayContaining([STREAMS.nodeCommands, STREAMS.reports]),
      )
    }, WAIT)
  })

  test('leases lie in a bucket that any key-value client reads', async () => {
    await nats.leases.acquire(1, 'cp-1', 60_000)
    const bucket = await new Kvm(plain).open(BUCKETS.shards)
    expect((await bucket.get('shard.1'))?.json()).toMatchObject({ owner: 'cp-1', leaseMs: 60_000 })
  })
})

describe('leases through a crash of the server', () => {
  test('the holder goes on renewing, and a rival gets nothing meanwhile', async () => {
    const lease = await nats.leases.acquire(0, 'cp-1', 60_000)
    const rival = await connectNats({ url: server.url, name: 'rival', shards: 'existing' })
    expect(await rival.leases.acquire(0, 'cp-2', 60_000)).toBeUndefined()
    await server.kill()
    await expect(rival.leases.list()).rejects.toMatchObject({ code: 'BUS_UNAVAILABLE' })
    await server.restart()
    await vi.waitFor(async () => {
      expect(await rival.leases.acquire(0, 'cp-2', 60_000)).toBeUndefined()
    }, WAIT)
    if (lease === undefined) throw new Error('no lease')
    const renewed = await vi.waitFor(() => nats.leases.renew(lease, 60_000), WAIT)
    expect(renewed).toMatchObject({ owner: 'cp-1' })
    // The answer to a renewal may be lost: the lease with the older revision is still the owner's own.
    expect(await nats.leases.renew(lease, 60_000)).toMatchObject({ owner: 'cp-1' })
    await rival.close()
  })
})

describe('durable commands', () => {
  test('come in order with subject, time and headers, from any sequence, through a crash', async () => {
    const subject = SUBJECTS.command(actorRef('demo', 'a'), 'ResumeActor')
    for (const content of ['1', '2', '3']) {
      await nats.bus.request(subject, bytes(content), { timeoutMs: 5_000, headers: { 'test-n': content } })
    }
    expect(await nats.durableCommands.firstSequence()).toBe(1)
    const ended = new AbortController()
    const { seen, done } = collect<DurableCommand>(nats.durableCommands.follow(2, ended.signal))
    await vi.waitFor(() => expect(seen).toHaveLength(2), WAIT)
    expect(seen[0]).toMatchObject({ sequence: 2, subject, headers: { 'test-n': '2' } })
    expect(Buffer.from(seen[0]?.data ?? []).toString()).toBe('2')
    expect(Math.abs((seen[0]?.timeMs ?? 0) - Date.now())).toBeLessThan(60_000)

    await server.kill()
    await server.restart()
    await vi.waitFor(() => nats.bus.request(subject, bytes('4'), { timeoutMs: 1_000 }), WAIT)
    await vi.waitFor(() => expect(seen.map(({ sequence }) => sequence)).toEqual([2, 3, 4]), WAIT)
    ended.abort()
    await done
  })
})

describe('the event feed', () => {
  const publish = (name: string, line: string) => nats.log.publishEvent(event(name), line)
  const all = async () => {
    const signal = new AbortController().signal
    const { seen, done } = collect<FeedEvent>(
      nats.feed.follow(ALL.events, { from: 'start', untilCaughtUp: true, signal }),
    )
    await done
    return seen.map(({ line }) => line)
  }

  test('gives what is there and ends when caught up, of all actors or of one', async () => {
    expect(await all()).toEqual([])
    for (let index = 0; index < 600; index++) publish(`actor-${index % 3}`, `${index}`)
    await vi.waitFor(async () => expect(await all()).toHaveLength(600), WAIT)
    const signal = new AbortController().signal
    const one = collect<FeedEvent>(
      nats.feed.follow(event('actor-1'), { from: 'start', untilCaughtUp: true, signal }),
    )
    await one.done
    expect(one.seen).toHaveLength(200)
    expect(one.seen[0]).toMatchObject({ subject: event('actor-1'), line: '1' })
  })

  test('from now on means nothing older', async () => {
    publish('a', 'old')
    await vi.waitFor(async () => expect(await all()).toEqual(['old']), WAIT)
    const ended = new AbortController()
    const { seen, done } = collect<FeedEvent>(
      nats.feed.follow(ALL.events, { from: 'now', signal: ended.signal }),
    )
    await vi.waitFor(() => {
      publish('a', 'new')
      expect(seen.length).toBeGreaterThan(0)
    }, WAIT)
    expect(new Set(seen.map(({ line }) => line))).toEqual(new Set(['new']))
    ended.abort()
    await done
  })

  test('goes on after a crash: nothing twice, and what comes later is there', async () => {
    const ended = new AbortController()
    const { seen, done } = collect<FeedEvent>(
      nats.feed.follow(ALL.events, { from: 'start', signal: ended.signal }),
    )
    for (let index = 0; index < 100; index++) publish('a', `${index}`)
    await vi.waitFor(() => expect(seen).toHaveLength(100), WAIT)
    await server.kill()
    await server.restart()
    await vi.waitFor(async () => {
      publish('a', 'later')
      expect(seen.map(({ line }) => line)).toContain('later')
    }, WAIT)
    const before = seen.map(({ line }) => line).filter((line) => line !== 'later')
    expect(before).toEqual(Array.from({ length: 100 }, (_, index) => `${index}`))
    ended.abort()
    await done
  })
})
