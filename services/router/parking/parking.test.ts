import { beforeEach, describe, expect, test } from 'vitest'
import type { Clock, ErrorCode, Reply } from '@torpor/contracts'
import { actorRef, LIMITS, refuse } from '@torpor/contracts'
import type { Address } from '../domain/address.ts'
import { routeOf } from '../domain/route-cache.ts'
import type { Placed } from '../wake.ts'
import type { Parked } from './flight.ts'
import { Parking } from './parking.ts'

/** A clock that the test moves. */
class SteppedClock implements Clock {
  #nowMs = 0
  #timers: { atMs: number; call: () => void }[] = []
  nowMs = (): number => this.#nowMs
  monotonicMs = (): number => this.#nowMs

  after = (delayMs: number, call: () => void): (() => void) => {
    const timer = { atMs: this.#nowMs + delayMs, call }
    this.#timers.push(timer)
    return () => void (this.#timers = this.#timers.filter((other) => other !== timer))
  }

  /** Moves on, calling what falls due in its order, and lets every promise settle. */
  async pass(ms: number): Promise<void> {
    const untilMs = this.#nowMs + ms
    for (;;) {
      await settle()
      const due = this.#timers.filter(({ atMs }) => atMs <= untilMs).sort((a, b) => a.atMs - b.atMs)[0]
      if (due === undefined) break
      this.#timers = this.#timers.filter((timer) => timer !== due)
      this.#nowMs = due.atMs
      due.call()
    }
    this.#nowMs = untilMs
  }
}

const settle = (): Promise<void> => new Promise((resolve) => setImmediate(resolve))
const placed = (sequence = 1): Placed => ({
  assignment: { actorUid: '01900000-0000-7000-8000-000000000001', epoch: 1, sequence },
  gateAddress: '127.0.0.1:7070',
})
const address = (key: string): Address => {
  const [atespace = '', name = ''] = key.split('/')
  return { kind: 'actor', ref: actorRef(atespace, name), key }
}

let clock: SteppedClock
let asked: string[]
let ids: string[]
let answer: (key: string) => Reply<Placed> | Promise<Reply<Placed>>
let capacityChanged: () => void
let parking: Parking

beforeEach(() => {
  clock = new SteppedClock()
  asked = []
  ids = []
  answer = () => ({ ok: true, result: placed() })
  let nextId = 0
  parking = new Parking({
    wake: async ({ atespace, name }, id) => {
      asked.push(`${atespace}/${name}`)
      ids.push(id)
      return answer(`${atespace}/${name}`)
    },
    watchCapacity: (onChange) => {
      capacityChanged = onChange
      return () => undefined
    },
    clock,
    newId: () => `id-${(nextId += 1)}`,
    limits: { ...LIMITS, parkedRequestsMax: 200 },
    learn: () => undefined,
  })
})

const refusing =
  (code: ErrorCode, detail?: string) =>
  (key: string): Reply<Placed> => ({
    ok: false,
    error: refuse(code, key, detail),
  })

function park(key = 'demo/a', more: Partial<Parameters<Parking['park']>[0]> = {}) {
  const ends: Parked[] = []
  const { leave } = parking.park(
    { address: address(key), sinceMs: clock.monotonicMs(), tries: 0, ...more },
    (parked) => ends.push(parked),
  )
  return { ends, leave, code: () => (ends[0]?.kind === 'refused' ? ends[0].refusal.code : ends[0]?.kind) }
}

describe('one flight per actor', () => {
  test('a hundred requests make one wake, and all get its answer', async () => {
    const all = Array.from({ length: 100 }, () => park())
    await clock.pass(0)
    expect(asked).toEqual(['demo/a'])
    expect(all.map(({ code }) => code())).toEqual(Array(100).fill('route'))
    expect(parking.parked).toBe(0)
  })

  test('a wake that was decided against is not asked for again under its id', async () => {
    answer = refusing('NODE_UNAVAILABLE')
    park()
    await clock.pass(100)
    expect(ids.length).toBeGreaterThan(1)
    expect(new Set(ids).size).toBe(ids.length)
  })

  test('all attempts that nobody decided carry one command id, the next flight another', async () => {
    answer = refusing('BUS_UNAVAILABLE')
    park()
    await clock.pass(100)
    expect(new Set(ids)).toEqual(new Set(['id-1']))
    expect(ids.length).toBeGreaterThan(1)
    answer = () => ({ ok: true, result: placed() })
    await clock.pass(1_000)
    park()
    expect(ids.at(-1)).toBe('id-2')
  })

  test('a request that comes while the wake is under way joins it', async () => {
    const { promise, resolve } = Promise.withResolvers<Reply<Placed>>()
    answer = () => promise
    const first = park()
    await clock.pass(3_000)
    const second = park()
    resolve({ ok: true, result: placed() })
    await clock.pass(0)
    expect([first.code(), second.code(), asked.length]).toEqual(['route', 'route', 1])
  })
})

describe('the budget', () => {
  test('ends unplaced as NO_CAPACITY, with position and when to come back', async () => {
    answer = refusing('NO_CAPACITY')
    const parked = park()
    await clock.pass(LIMITS.parkMs - 1)
    expect(parked.ends).toEqual([])
    await clock.pass(1)
    expect(parked.ends).toMatchObject([
      { refusal: { code: 'NO_CAPACITY' }, extras: { position: 1, retryAfterSeconds: 1 } },
    ])
  })

  test('goes on while a restore runs, and ends as WAKE_TIMEOUT', async () => {
    answer = () => new Promise(() => undefined)
    const parked = park()
    await clock.pass(LIMITS.parkMs + LIMITS.parkPlacedExtraMs - 1)
    expect(parked.ends).toEqual([])
    await clock.pass(1)
    expect(parked.code()).toBe('WAKE_TIMEOUT')
  })

  test('a restore that ends late is served late', async () => {
    const { promise, resolve } = Promise.withResolvers<Reply<Placed>>()
    answer = () => promise
    const parked = park()
    await clock.pass(LIMITS.parkMs + 1_000)
    resolve({ ok: true, result: placed() })
    await clock.pass(0)
    expect(parked.code()).toBe('route')
  })

  test('an attempt that finds no room after the budget is the last', async () => {
    const { promise, resolve } = Promise.withResolvers<Reply<Placed>>()
    answer = () => promise
    const parked = park()
    await clock.pass(LIMITS.parkMs + 1)
    resolve(refusing('NO_CAPACITY')('demo/a'))
    await clock.pass(0)
    expect([parked.code(), asked.length]).toEqual(['NO_CAPACITY', 1])
  })

  test('belongs to each request: who came later waits longer', async () => {
    answer = refusing('NO_CAPACITY')
    const first = park()
    await clock.pass(3_000)
    const second = park()
    await clock.pass(2_000)
    expect([first.code(), second.code()]).toEqual(['NO_CAPACITY', undefined])
    await clock.pass(3_000)
    expect(second.code()).toBe('NO_CAPACITY')
  })

  test.each(['SHARD_MOVED', 'LOG_UNAVAILABLE', 'BUS_UNAVAILABLE', 'NODE_UNAVAILABLE'] as const)(
    '%s is tried again until then, and then answered',
    async (code) => {
      answer = refusing(code)
      const parked = park()
      await clock.pass(LIMITS.parkMs)
      expect(parked.code()).toBe(code)
      expect(asked.length).toBeGreaterThan(5)
      expect(asked.length).toBeLessThan(20)
    },
  )

  test('a state that changes all the time is a wait that was too short', async () => {
    answer = refusing('ACTOR_STATE_CONFLICT', 'ACTOR_STATE_SUSPENDING')
    const parked = park()
    await clock.pass(LIMITS.parkMs)
    expect(parked.code()).toBe('WAKE_TIMEOUT')
  })

  test('a wake that the control side gave up is joined again', async () => {
    answer = (key) => (asked.length < 3 ? refusing('WAKE_TIMEOUT')(key) : { ok: true, result: placed() })
    const parked = park()
    await clock.pass(1_000)
    expect([parked.code(), asked.length]).toEqual(['route', 3])
  })
})

test.each([
  'ACTOR_CRASHED',
  'ACTOR_UNKNOWN',
  'ACTOR_GONE',
  'QUOTA_EXCEEDED',
  'SNAPSHOT_ON_LOST_NODE',
  'FORBIDDEN',
] as const)('%s is answered at once', async (code) => {
  answer = refusing(code)
  const parked = park()
  await clock.pass(0)
  expect([parked.code(), asked.length]).toEqual([code, 1])
})

test('a wake that throws is a refusal, and a gate address that is none too', async () => {
  answer = () => Promise.reject(new Error('broken'))
  const first = park('demo/a')
  await clock.pass(0)
  answer = () => ({ ok: true, result: { ...placed(), gateAddress: 'nowhere' } })
  const second = park('demo/b')
  await clock.pass(0)
  expect([first.code(), second.code()]).toEqual(['INTERNAL', 'CONFIG_INVALID'])
})

describe('waiting for room', () => {
  test('a change of capacity wakes those that wait, atespaces in turn', async () => {
    answer = refusing('NO_CAPACITY')
    for (const key of ['noisy/a', 'noisy/b', 'noisy/c', 'quiet/a']) park(key)
    await clock.pass(0)
    asked = []
    capacityChanged()
    expect(asked).toEqual(['noisy/a', 'quiet/a', 'noisy/b', 'noisy/c'])
  })

  test('at most wakeRetriesAtOnceMax ask again at once', async () => {
    answer = refusing('NO_CAPACITY')
    for (let index = 0; index < 100; index += 1) park(`demo/a${index}`)
    await clock.pass(0)
    asked = []
    capacityChanged()
    expect(asked).toHaveLength(LIMITS.wakeRetriesAtOnceMax)
  })

  test('they ask again even when nobody says that capacity changed', async () => {
    answer = refusing('NO_CAPACITY')
    park()
    await clock.pass(LIMITS.rpcBackoffMsMax * 3)
    expect(asked).toHaveLength(4)
  })

  test('the position tells how many are asked before', async () => {
    answer = refusing('NO_CAPACITY')
    for (const key of ['noisy/a', 'noisy/b', 'quiet/a']) park(key)
    const last = park('noisy/c', { sinceMs: clock.monotonicMs() - 1_000 })
    await clock.pass(LIMITS.parkMs - 1_000)
    expect(last.ends).toMatchObject([{ refusal: { code: 'NO_CAPACITY' }, extras: { position: 4 } }])
  })

  test('a flight that nobody waits for asks no more', async () => {
    answer = refusing('NO_CAPACITY')
    const parked = park()
    await clock.pass(0)
    parked.leave()
    capacityChanged()
    await clock.pass(10_000)
    expect([asked.length, parking.parked]).toEqual([1, 0])
  })
})

describe('the lot', () => {
  test('holds parkedRequestsMax and refuses one more at once', async () => {
    answer = () => new Promise(() => undefined)
    for (let index = 0; index < 200; index += 1) park(`demo/a${index % 7}`)
    const refused = park()
    expect(refused.ends).toMatchObject([{ refusal: { code: 'LOT_FULL' }, extras: { retryAfterSeconds: 1 } }])
    expect(parking.parked).toBe(200)
  })

  test('has room again when one leaves', async () => {
    answer = () => new Promise(() => undefined)
    const all = Array.from({ length: 200 }, () => park())
    all[0]?.leave()
    expect(park().ends).toEqual([])
  })
})

describe('a route that did not let the request in', () => {
  const stale = routeOf(placed())

  test('is tried again after a back-off that grows', async () => {
    const first = park('demo/a', { stale, tries: 1 })
    await clock.pass(LIMITS.rpcBackoffMsMin - 1)
    expect(first.ends).toEqual([])
    await clock.pass(1)
    expect(first.code()).toBe('route')
    const third = park('demo/a', { stale, tries: 3 })
    await clock.pass(LIMITS.rpcBackoffMsMin * 4 - 1)
    expect(third.ends).toEqual([])
    await clock.pass(1)
    expect(third.code()).toBe('route')
  })

  test('is not tried after the budget', async () => {
    const { promise, resolve } = Promise.withResolvers<Reply<Placed>>()
    answer = () => promise
    const parked = park('demo/a', { stale, tries: 9, sinceMs: clock.monotonicMs() - LIMITS.parkMs })
    await clock.pass(1)
    resolve({ ok: true, result: placed() })
    await clock.pass(0)
    expect(parked.code()).toBe('NODE_UNAVAILABLE')
  })

  test('does not hold up who has another one', async () => {
    const again = park('demo/a', { stale, tries: 9 })
    const fresh = park('demo/a')
    await clock.pass(0)
    expect([fresh.code(), again.code()]).toEqual(['route', undefined])
  })

  test('is given up when it moved for longer than any wait lasts', () => {
    const sinceMs = -(LIMITS.parkMs + LIMITS.parkPlacedExtraMs + 1)
    expect(park('demo/a', { stale, tries: 9, sinceMs }).code()).toBe('NODE_UNAVAILABLE')
  })
})

test('a router that stops ends all that wait', async () => {
  answer = () => new Promise(() => undefined)
  const parked = park()
  parking.close()
  expect([parked.code(), parking.parked]).toEqual(['NODE_UNAVAILABLE', 0])
})
