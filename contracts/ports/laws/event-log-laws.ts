import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import type { AppendResult, EventLog, ShardLog, StoredFrame } from '../event-log.ts'

/** A fresh, empty log of at least two shards, as every law begins with one. */
export type EventLogUnderLaw = {
  readonly log: EventLog
  /** The same log as another process sees it: another connection. */
  readonly other: EventLog
  close(): Promise<void>
}

const bytesOf = (text: string): Uint8Array => new TextEncoder().encode(text)
const textOf = (bytes: Uint8Array): string => new TextDecoder().decode(bytes)
const kinds = (results: readonly AppendResult[]): string[] => results.map((result) => result.kind)

/**
 * What every event log must keep; the simulated one and the real ones run the same suite.
 * @example describeEventLogLaws('the simulated log', async () => ({ log, other, close }))
 */
export function describeEventLogLaws(name: string, makeLog: () => Promise<EventLogUnderLaw>): void {
  describe(`the laws of an event log: ${name}`, () => {
    let made: EventLogUnderLaw
    beforeEach(async () => {
      made = await makeLog()
    })
    afterEach(async () => {
      await made.close()
    })
    const shard = (index = 0): ShardLog => made.log.shard(index)
    describeAppends(shard, () => made.other.shard(0))
    describeChains(shard, () => made.other.shard(0))
    describeReads(shard)
    describeFollowing(shard)
    test('shards do not know of each other', async () => {
      expect(made.log.shards).toBeGreaterThanOrEqual(2)
      await fill(shard(0), ['a', 'b'])
      expect(await shard(1).lastSequence()).toBe(0)
      expect(await shard(1).append(bytesOf('x'), 0)).toEqual({ kind: 'committed', sequence: 1 })
    })
    test('a derived event leaves the log as it is', async () => {
      made.log.publishEvent('torpor.v1.evt.demo.a', '{}')
      expect(await shard().lastSequence()).toBe(0)
    })
  })
}

function describeAppends(shard: () => ShardLog, other: () => ShardLog): void {
  test('an empty log has the last sequence 0', async () => {
    expect(await shard().lastSequence()).toBe(0)
  })
  test('an append that expects the last sequence is committed under the next one', async () => {
    for (const sequence of [1, 2, 3]) {
      expect(await shard().append(bytesOf(`f${sequence}`), sequence - 1)).toEqual({
        kind: 'committed',
        sequence,
      })
    }
    expect(await other().lastSequence()).toBe(3)
  })
  test('an append that expects too little or too much is a conflict and stores nothing', async () => {
    await fill(shard(), ['a', 'b'])
    for (const wrong of [0, 1, 3, 99]) {
      expect(await shard().append(bytesOf('wrong'), wrong)).toEqual({ kind: 'conflict' })
    }
    expect(await shard().lastSequence()).toBe(2)
    expect(await texts(shard(), 1, 2)).toEqual(['a', 'b'])
  })
  test('of two writers that expect the same sequence exactly one commits', async () => {
    for (let round = 0; round < 20; round += 1) {
      const results = await Promise.all([
        shard().append(bytesOf('one'), round),
        other().append(bytesOf('two'), round),
      ])
      expect(kinds(results).sort()).toEqual(['committed', 'conflict'])
      const winner = results[0].kind === 'committed' ? 'one' : 'two'
      expect(await texts(shard(), round + 1, round + 1)).toEqual([winner])
    }
  })
}

function describeChains(shard: () => ShardLog, other: () => ShardLog): void {
  test('appends sent in a row with predicted sequences are all committed, in order', async () => {
    const names = Array.from({ length: 40 }, (_, index) => `f${index}`)
    const results = await Promise.all(names.map((name, index) => shard().append(bytesOf(name), index)))
    expect(results).toEqual(names.map((_, index) => ({ kind: 'committed', sequence: index + 1 })))
    expect(await texts(shard(), 1, names.length)).toEqual(names)
  })
  test('a break in a row of appends fails every follower', async () => {
    const results = await Promise.all(
      [0, 5, 6, 7].map((expected, index) => shard().append(bytesOf(`f${index}`), expected)),
    )
    expect(kinds(results)).toEqual(['committed', 'conflict', 'conflict', 'conflict'])
    expect(await shard().lastSequence()).toBe(1)
  })
  test('an append of another writer breaks the row that was predicted without it', async () => {
    await fill(shard(), ['a'])
    expect(await other().append(bytesOf('barrier'), 1)).toEqual({ kind: 'committed', sequence: 2 })
    expect(await shard().append(bytesOf('late'), 1)).toEqual({ kind: 'conflict' })
    expect(await texts(shard(), 1, 2)).toEqual(['a', 'barrier'])
  })
}

function describeReads(shard: () => ShardLog): void {
  test('bytes come back as they went in', async () => {
    const every = Uint8Array.from({ length: 256 }, (_, index) => index)
    const large = new Uint8Array(512 * 1024).fill(7)
    await shard().append(every, 0)
    await shard().append(large, 1)
    const stored = await frames(shard(), 1, 2)
    expect(Buffer.compare(stored[0]?.bytes ?? every.subarray(1), every)).toBe(0)
    expect(Buffer.compare(stored[1]?.bytes ?? every, large)).toBe(0)
  })
  test('a read gives what lies between its bounds, both included, with rising sequences, and ends', async () => {
    await fill(
      shard(),
      Array.from({ length: 30 }, (_, index) => `f${index + 1}`),
    )
    const stored = await frames(shard(), 7, 23)
    expect(stored.map((frame) => frame.sequence)).toEqual(Array.from({ length: 17 }, (_, index) => index + 7))
    expect(stored.map((frame) => textOf(frame.bytes))).toEqual(
      Array.from({ length: 17 }, (_, index) => `f${index + 7}`),
    )
  })
  test('a read that ends before it begins gives nothing', async () => {
    await fill(shard(), ['a'])
    expect(await frames(shard(), 2, 1)).toEqual([])
  })
  test('a committed append is there for a read at once', async () => {
    for (let sequence = 1; sequence <= 10; sequence += 1) {
      await shard().append(bytesOf(`f${sequence}`), sequence - 1)
      expect(await texts(shard(), sequence, sequence)).toEqual([`f${sequence}`])
    }
  })
}

function describeFollowing(shard: () => ShardLog): void {
  test('following gives what is there, then what comes, in order, until the signal', async () => {
    await fill(shard(), ['a', 'b', 'c'])
    const end = new AbortController()
    const seen: string[] = []
    for await (const frame of shard().follow(2, end.signal)) {
      seen.push(`${frame.sequence} ${textOf(frame.bytes)}`)
      if (frame.sequence === 3) void shard().append(bytesOf('d'), 3)
      if (frame.sequence === 4) end.abort()
    }
    expect(seen).toEqual(['2 b', '3 c', '4 d'])
  })
  test('following ends at the signal when nothing comes', async () => {
    const end = new AbortController()
    const seen: StoredFrame[] = []
    const following = (async () => {
      for await (const frame of shard().follow(1, end.signal)) seen.push(frame)
    })()
    await shard().append(bytesOf('a'), 0)
    end.abort()
    await following
    expect(seen.length).toBeLessThanOrEqual(1)
  })
}

async function fill(shard: ShardLog, texts: readonly string[]): Promise<void> {
  let last = await shard.lastSequence()
  for (const text of texts) {
    const result = await shard.append(bytesOf(text), last)
    expect(result.kind).toBe('committed')
    last += 1
  }
}

async function frames(shard: ShardLog, from: number, to: number): Promise<StoredFrame[]> {
  const found: StoredFrame[] = []
  for await (const frame of shard.read(from, to)) found.push(frame)
  return found
}

const texts = async (shard: ShardLog, from: number, to: number): Promise<string[]> =>
  (await frames(shard, from, to)).map((frame) => textOf(frame.bytes))
