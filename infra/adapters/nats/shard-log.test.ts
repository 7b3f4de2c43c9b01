import type { AppendResult, ShardLog, StoredFrame } from '@torpor/contracts'
import { LIMITS, STREAMS } from '@torpor/contracts'
import { jetstreamManager } from '@nats-io/jetstream'
import { connect } from '@nats-io/transport-node'
import { afterAll, afterEach, beforeAll, describe, expect, test, vi } from 'vitest'
import type { NatsAdapter } from './connect-nats.ts'
import { connectNats } from './connect-nats.ts'
import type { TestServer } from './start-test-server.ts'
import { startTestServer } from './start-test-server.ts'

const bytes = (text: string) => new TextEncoder().encode(text)
const text = (frame: StoredFrame) => new TextDecoder().decode(frame.bytes)

async function take(frames: AsyncIterable<StoredFrame>, count: number): Promise<readonly string[]> {
  const taken: string[] = []
  for await (const frame of frames) {
    taken.push(`${frame.sequence} ${text(frame)}`)
    if (taken.length === count) break
  }
  return taken
}

/** Appends in the way of a recovery: reads the last sequence and tries again until it is in. */
async function appendAfterRecovery(log: ShardLog, content: string): Promise<number> {
  const deadline = Date.now() + 20_000
  let result: AppendResult | { kind: 'unknown' } = { kind: 'unknown' }
  while (Date.now() < deadline) {
    const last = await log.lastSequence().catch(() => undefined)
    if (last === undefined) await new Promise((resolve) => setTimeout(resolve, 50))
    else result = await log.append(bytes(content), last)
    if (result.kind === 'committed') return result.sequence
  }
  throw new Error(`never committed: ${JSON.stringify(result)}`)
}

describe('the log of a shard on a real server', () => {
  let server: TestServer
  let nats: NatsAdapter
  let shard = 0
  const nextLog = () => nats.log.shard(shard++)

  beforeAll(async () => {
    server = await startTestServer()
    nats = await connectNats({ url: server.url, name: 'log-test', shards: 12 })
  })
  afterAll(async () => {
    await nats.close()
    await server.stop()
  })

  test('stores frames only at the expected sequence', async () => {
    const log = nextLog()
    expect(await log.lastSequence()).toBe(0)
    expect(await log.append(bytes('a'), 0)).toEqual({ kind: 'committed', sequence: 1 })
    expect(await log.append(bytes('b'), 0)).toEqual({ kind: 'conflict' })
    expect(await log.append(bytes('b'), 7)).toEqual({ kind: 'conflict' })
    expect(await log.append(bytes('b'), 1)).toEqual({ kind: 'committed', sequence: 2 })
    expect(await log.lastSequence()).toBe(2)
    expect(await take(log.read(1, 2), 9)).toEqual(['1 a', '2 b'])
  })

  test('a break in a row of predicted appends fails every follower', async () => {
    const log = nextLog()
    const results = await Promise.all([0, 1, 5, 6, 7].map((expected) => log.append(bytes('x'), expected)))
    expect(results.map((result) => result.kind)).toEqual([
      'committed',
      'committed',
      'conflict',
      'conflict',
      'conflict',
    ])
  })

  test('gives the largest frame back byte by byte', async () => {
    const log = nextLog()
    const frame = new Uint8Array(LIMITS.frameBytesMax).map((_, index) => index % 251)
    expect(await log.append(frame, 0)).toEqual({ kind: 'committed', sequence: 1 })
    for await (const stored of log.read(1, 1)) expect(Buffer.compare(stored.bytes, frame)).toBe(0)
  })

  test('refuses what the server cannot take, without asking it', async () => {
    const log = nextLog()
    expect(await log.append(new Uint8Array(2 * 1024 * 1024), 0)).toMatchObject({ kind: 'refused' })
    expect(await log.lastSequence()).toBe(0)
  })

  test('reads many more frames than one pull holds, in order', async () => {
    const log = nextLog()
    const count = LIMITS.streamPullMessages * 5 + 17
    await Promise.all(Array.from({ length: count }, (_, index) => log.append(bytes(`${index}`), index)))
    const read = await take(log.read(1, count), count + 1)
    expect(read).toEqual(Array.from({ length: count }, (_, index) => `${index + 1} ${index}`))
    expect(await take(log.read(count, count), 2)).toHaveLength(1)
    expect(await take(log.read(count + 1, count), 1)).toEqual([])
  })

  test('two writers with the same expectation: one commits', async () => {
    const log = nextLog()
    const other = await connectNats({ url: server.url, name: 'rival', shards: 'existing' })
    expect(other.log.shards).toBe(12)
    const rival = other.log.shard(shard - 1)
    for (let round = 0; round < 50; round++) {
      const kinds = (await Promise.all([log.append(bytes('l'), round), rival.append(bytes('r'), round)])).map(
        (result) => result.kind,
      )
      expect(kinds.sort()).toEqual(['committed', 'conflict'])
    }
    await other.close()
  })

  test('a log that is full refuses, and what it holds stays readable', async () => {
    const log = nextLog()
    const connection = await connect({ servers: server.url })
    const manager = await jetstreamManager(connection)
    await manager.streams.update(STREAMS.log(shard - 1), { max_bytes: 4_096 })
    expect(await log.append(bytes('a'), 0)).toMatchObject({ kind: 'committed' })
    expect(await log.append(new Uint8Array(8_192), 1)).toMatchObject({
      kind: 'refused',
      cause: { code: 'LOG_UNAVAILABLE' },
    })
    expect(await log.lastSequence()).toBe(1)
    expect(await take(log.read(1, 1), 1)).toEqual(['1 a'])
    await connection.close()
  })

  test('readers leave nothing behind on the server', async () => {
    const log = nextLog()
    await log.append(bytes('a'), 0)
    for (let round = 0; round < 10; round++) await take(log.read(1, 1), 1)
    const connection = await connect({ servers: server.url })
    const manager = await jetstreamManager(connection)
    await vi.waitFor(async () => {
      expect((await manager.streams.info(STREAMS.log(shard - 1))).state.consumer_count).toBe(0)
    })
    await connection.close()
  })

  test('what was purged from the front is skipped, and a range that is gone is empty', async () => {
    const log = nextLog()
    for (const index of [0, 1, 2, 3]) await log.append(bytes(`${index}`), index)
    const connection = await connect({ servers: server.url })
    const manager = await jetstreamManager(connection)
    await manager.streams.purge(STREAMS.log(shard - 1), { seq: 3 })
    expect(await take(log.read(1, 4), 9)).toEqual(['3 2', '4 3'])
    expect(await take(log.read(1, 2), 9)).toEqual([])
    await manager.streams.purge(STREAMS.log(shard - 1))
    expect(await take(log.read(1, 4), 9)).toEqual([])
    expect(await log.append(bytes('next'), 4)).toEqual({ kind: 'committed', sequence: 5 })
    await connection.close()
  })

  test('follow ends at the signal', async () => {
    const log = nextLog()
    const ended = new AbortController()
    const following = take(log.follow(1, ended.signal), 5)
    await log.append(bytes('a'), 0)
    ended.abort()
    expect((await following).length).toBeLessThanOrEqual(1)
  })
})

describe('the log of a shard through a crash of the server', () => {
  let server: TestServer
  let nats: NatsAdapter

  afterEach(async () => {
    await nats.close()
    await server.stop()
  })

  test('appends in flight are ambiguous at once, followers go on, what was committed is there', async () => {
    server = await startTestServer()
    nats = await connectNats({ url: server.url, name: 'crash-test', shards: 1 })
    const log = nats.log.shard(0)
    const followed = take(log.follow(1, new AbortController().signal), 4)
    expect(await log.append(bytes('a'), 0)).toMatchObject({ kind: 'committed' })
    expect(await log.append(bytes('b'), 1)).toMatchObject({ kind: 'committed' })

    await server.kill()
    expect(await log.append(bytes('lost'), 2)).toMatchObject({ kind: 'ambiguous' })
    await expect(log.lastSequence()).rejects.toMatchObject({ code: 'LOG_UNAVAILABLE' })
    await server.restart()

    expect(await appendAfterRecovery(log, 'c')).toBe(3)
    expect(await appendAfterRecovery(log, 'd')).toBe(4)
    expect(await followed).toEqual(['1 a', '2 b', '3 c', '4 d'])
  })

  test('a frame that was sent when the server died is there or not, and never twice', async () => {
    server = await startTestServer()
    nats = await connectNats({ url: server.url, name: 'crash-test', shards: 1 })
    const log = nats.log.shard(0)
    const sent = Array.from({ length: 200 }, (_, index) => log.append(bytes(`${index}`), index))
    await sent[20]
    await server.kill()
    const results = await Promise.all(sent)
    const committed = results.filter((result) => result.kind === 'committed').length
    expect(results.slice(committed).every((result) => result.kind === 'ambiguous')).toBe(true)
    await server.restart()

    const barrier = await appendAfterRecovery(log, 'barrier')
    expect(barrier).toBeGreaterThan(committed)
    const stored = await take(log.read(1, barrier), barrier + 1)
    const expected = Array.from({ length: barrier - 1 }, (_, index) => `${index + 1} ${index}`)
    expect(stored).toEqual([...expected, `${barrier} barrier`])
  })
})
