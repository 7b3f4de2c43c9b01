import { LIMITS } from '@torpor/contracts'
import { describeEventLogLaws } from '@torpor/contracts/laws/event-log-laws'
import { describeShardLeasesLaws } from '@torpor/contracts/laws/shard-leases-laws'
import { describe, expect, test } from 'vitest'
import type { SimulatedClock } from '../clock.ts'
import { simulatedClock } from '../clock.ts'
import { simulatedProcess } from '../process.ts'
import { seededRandom } from '../random.ts'
import { faultsAt } from './append-faults.ts'
import { SimulatedLeases } from './simulated-leases.ts'
import { SimulatedLog } from './simulated-log.ts'

const bytes = (text: string): Uint8Array => new TextEncoder().encode(text)

/** Lets simulated time go by on its own, as fast as the machine allows, for suites that know nothing of it. */
function letTimeRun(clock: SimulatedClock): () => void {
  const running = { on: true }
  const turn = (): void => {
    clock.step()
    if (running.on) setImmediate(turn)
  }
  setImmediate(turn)
  return () => {
    running.on = false
  }
}

describeEventLogLaws('the simulated log', async () => {
  const clock = simulatedClock()
  const log = new SimulatedLog({ shards: 2, clock, random: seededRandom(1) })
  const stop = letTimeRun(clock)
  return { log: log.connect(), other: log.connect(), close: async () => stop() }
})

describeShardLeasesLaws('the simulated leases', async () => {
  const clock = simulatedClock()
  const leases = new SimulatedLeases(clock, seededRandom(1))
  const stop = letTimeRun(clock)
  const pass = (ms: number): Promise<void> => new Promise((resolve) => void clock.after(ms, resolve))
  return { leases: leases.connect(), other: leases.connect(), pass, close: async () => stop() }
})

describe('the simulated log', () => {
  const world = (seed = 1) => {
    const clock = simulatedClock()
    const log = new SimulatedLog({ shards: 2, clock, random: seededRandom(seed) })
    return { clock, log, shard: log.connect().shard(0) }
  }

  test('loses an append: no answer, and it never lands', async () => {
    const { clock, log, shard } = world()
    log.plant(faultsAt({ 1: 'lost' }))
    expect(await clock.run(shard.append(bytes('a'), 0))).toMatchObject({ kind: 'ambiguous' })
    await clock.advance(60_000)
    expect(log.frames(0)).toHaveLength(0)
  })

  test('lets an append land and loses its answer', async () => {
    const { clock, log, shard } = world()
    log.plant(faultsAt({ 1: 'unanswered' }))
    expect(await clock.run(shard.append(bytes('a'), 0))).toMatchObject({ kind: 'ambiguous' })
    expect(log.frames(0)).toHaveLength(1)
  })

  test('lets an append land after its sender gave up, unless its sequence is taken by then', async () => {
    const { clock, log, shard } = world()
    log.plant(faultsAt({ 1: 'late', 2: 'late' }))
    expect(await clock.run(shard.append(bytes('a'), 0))).toMatchObject({ kind: 'ambiguous' })
    expect(log.frames(0)).toHaveLength(0)
    await clock.advance(LIMITS.appendTimeoutMs * 3)
    expect(log.frames(0)).toHaveLength(1)
    void shard.append(bytes('late'), 1)
    expect(await clock.run(shard.append(bytes('b'), 1))).toEqual({ kind: 'committed', sequence: 2 })
    await clock.advance(60_000)
    expect(log.frames(0).map((frame) => new TextDecoder().decode(frame))).toEqual(['a', 'b'])
  })

  test('refuses when its disk is full, and takes appends again when there is room', async () => {
    const { clock, log, shard } = world()
    log.setFull(true)
    expect(await clock.run(shard.append(bytes('a'), 0))).toMatchObject({ kind: 'refused' })
    log.setFull(false)
    expect(await clock.run(shard.append(bytes('a'), 0))).toEqual({ kind: 'committed', sequence: 1 })
  })

  test('answers with a conflict that another append in flight made, and stores nothing', async () => {
    const { clock, log, shard } = world()
    log.plant(faultsAt({ 1: 'inFlightConflict' }))
    expect(await clock.run(shard.append(bytes('a'), 0))).toEqual({ kind: 'conflict' })
    expect(log.frames(0)).toHaveLength(0)
  })

  test('tells a stopped process nothing until it goes on', async () => {
    const { clock, log } = world()
    const process = simulatedProcess(clock)
    const state = { answered: false }
    void log
      .connect(process)
      .shard(0)
      .append(bytes('a'), 0)
      .finally(() => {
        state.answered = true
      })
    process.pause()
    await clock.advance(60_000)
    expect(log.frames(0)).toHaveLength(1)
    expect(state.answered).toBe(false)
    process.resume()
    await clock.runUntil(() => state.answered)
  })

  test('without a leader stores nothing and answers nothing, then goes on from what it had', async () => {
    const { clock, log, shard } = world()
    expect(await clock.run(shard.append(bytes('a'), 0))).toEqual({ kind: 'committed', sequence: 1 })
    log.changeLeader(1_000)
    expect(await clock.run(shard.append(bytes('b'), 1))).toMatchObject({ kind: 'ambiguous' })
    expect(await clock.run(shard.lastSequence())).toBe(1)
    expect(await clock.run(shard.append(bytes('b'), 1))).toEqual({ kind: 'committed', sequence: 2 })
  })

  test('loses the answer, not the append, when its leader goes between the two', async () => {
    const { clock, log, shard } = world()
    const appended = shard.append(bytes('a'), 0)
    await clock.runUntil(() => log.frames(0).length === 1)
    log.changeLeader(1_000)
    expect(await clock.run(appended)).toMatchObject({ kind: 'ambiguous' })
    expect(log.frames(0)).toHaveLength(1)
  })

  test.each([
    ['keeps every answered append over a power cut where each is synced', {}, ['a', 'b']],
    ['loses at a power cut what came after the last sync', { syncEveryMs: 10_000 }, ['a']],
  ])('%s', async (_, sync, left) => {
    const clock = simulatedClock()
    const log = new SimulatedLog({ shards: 1, clock, random: seededRandom(1), ...sync })
    const shard = log.connect().shard(0)
    expect(await clock.run(shard.append(bytes('a'), 0))).toMatchObject({ kind: 'committed' })
    await clock.advance(10_000)
    expect(await clock.run(shard.append(bytes('b'), 1))).toMatchObject({ kind: 'committed' })
    log.cutPower(1_000)
    await clock.advance(1_000)
    expect(log.frames(0).map((frame) => new TextDecoder().decode(frame))).toEqual(left)
    expect(await clock.run(shard.lastSequence())).toBe(left.length)
  })

  test('draws the same world from the same seed', async () => {
    const times = async (seed: number): Promise<number[]> => {
      const { clock, shard } = world(seed)
      const seen: number[] = []
      for (let expected = 0; expected < 5; expected += 1) {
        await clock.run(shard.append(bytes('a'), expected))
        seen.push(clock.monotonicMs())
      }
      return seen
    }
    expect(await times(7)).toEqual(await times(7))
    expect(await times(7)).not.toEqual(await times(8))
  })
})
