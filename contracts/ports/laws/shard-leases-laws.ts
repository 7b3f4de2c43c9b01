import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import type { ShardLease, ShardLeases } from '../shard-leases.ts'

/** Leases that nobody holds yet, as every law begins with them. */
export type ShardLeasesUnderLaw = {
  readonly leases: ShardLeases
  /** The same leases as another process sees them: another connection. */
  readonly other: ShardLeases
  /** Lets time go by: simulated, or by waiting. */
  pass(ms: number): Promise<void>
  close(): Promise<void>
}

const LONG_MS = 60_000
const SHORT_MS = 1_000
/** A short lease is over after this much more, whatever the grain of an implementation's time. */
const GRAIN_MS = 1_500
const WATCH_MS_MAX = 5_000

/**
 * What all leases must keep; the simulated ones and the real ones run the same suite.
 * @example describeShardLeasesLaws('the simulated leases', async () => ({ leases, other, pass, close }))
 */
export function describeShardLeasesLaws(name: string, make: () => Promise<ShardLeasesUnderLaw>): void {
  describe(`the laws of shard leases: ${name}`, () => {
    let made: ShardLeasesUnderLaw
    beforeEach(async () => {
      made = await make()
    })
    afterEach(async () => {
      await made.close()
    })
    describeTaking(() => made)
    describeHolding(() => made)
    describeMembers(() => made)
    describeWatching(() => made)
  })
}

function describeTaking(made: () => ShardLeasesUnderLaw): void {
  test('a free shard is taken, and everybody sees by whom', async () => {
    const lease = await take(made().leases, 3, 'a')
    expect(lease).toMatchObject({ shard: 3, owner: 'a' })
    expect(await made().other.list()).toMatchObject([{ shard: 3, owner: 'a', revision: lease.revision }])
  })
  test('a shard that is held is not given to another', async () => {
    await take(made().leases, 0, 'a')
    expect(await made().other.acquire(0, 'b', LONG_MS)).toBeUndefined()
    expect(await owners(made().leases)).toEqual(['0 a'])
  })
  test('of two that want the same free shard exactly one gets it', async () => {
    for (let shard = 0; shard < 10; shard += 1) {
      const both = await Promise.all([
        made().leases.acquire(shard, 'a', LONG_MS),
        made().other.acquire(shard, 'b', LONG_MS),
      ])
      expect(both.filter((lease) => lease !== undefined)).toHaveLength(1)
    }
  })
  test('the holder takes its own shard again, under a new revision', async () => {
    const first = await take(made().leases, 0, 'a')
    const second = await take(made().leases, 0, 'a')
    expect(second.revision).toBeGreaterThan(first.revision)
  })
  test('a lease that ran out is free for another, and lost for its holder', async () => {
    const lease = await take(made().leases, 0, 'a', SHORT_MS)
    await made().pass(SHORT_MS + GRAIN_MS)
    expect(await owners(made().other)).toEqual([])
    expect(await made().other.acquire(0, 'b', LONG_MS)).toMatchObject({ owner: 'b' })
    expect(await made().leases.renew(lease, LONG_MS)).toBeUndefined()
  })
}

function describeHolding(made: () => ShardLeasesUnderLaw): void {
  test('a renewed lease lasts on, and its new revision is the one to renew', async () => {
    const lease = await take(made().leases, 0, 'a', SHORT_MS)
    const renewed = await made().leases.renew(lease, LONG_MS)
    expect(renewed?.expiresAtMs).toBeGreaterThan(lease.expiresAtMs)
    await made().pass(SHORT_MS + GRAIN_MS)
    expect(await made().other.acquire(0, 'b', LONG_MS)).toBeUndefined()
    expect(await made().leases.renew(renewed ?? lease, LONG_MS)).toMatchObject({ owner: 'a' })
  })
  test('a lease that was given back is free at once', async () => {
    const lease = await take(made().leases, 0, 'a')
    await made().leases.release(lease)
    expect(await owners(made().other)).toEqual([])
    expect(await made().other.acquire(0, 'b', LONG_MS)).toMatchObject({ owner: 'b' })
  })
  test('giving back a lease that another took since changes nothing', async () => {
    const lease = await take(made().leases, 0, 'a')
    await made().leases.release(lease)
    await take(made().other, 0, 'b')
    await made().leases.release(lease)
    expect(await owners(made().leases)).toEqual(['0 b'])
  })
}

function describeMembers(made: () => ShardLeasesUnderLaw): void {
  test('members are those that announced themselves and did not withdraw', async () => {
    await made().leases.announce('a', LONG_MS)
    await made().other.announce('b', LONG_MS)
    await made().other.announce('b', LONG_MS)
    expect([...(await made().leases.members())].sort()).toEqual(['a', 'b'])
    await made().other.withdraw('b')
    expect(await made().leases.members()).toEqual(['a'])
  })
  test('a member that stays silent is none any more', async () => {
    await made().leases.announce('a', LONG_MS)
    await made().other.announce('b', SHORT_MS)
    await made().pass(SHORT_MS + GRAIN_MS)
    expect(await made().leases.members()).toEqual(['a'])
  })
  test('members and leases are told apart, whatever their names', async () => {
    await made().leases.announce('0', LONG_MS)
    await take(made().leases, 0, 'control-plane.1')
    expect(await made().other.members()).toEqual(['0'])
    expect(await owners(made().other)).toEqual(['0 control-plane.1'])
  })
}

function describeWatching(made: () => ShardLeasesUnderLaw): void {
  test('a watch tells of leases taken and given back, and of members', async () => {
    const seen = { calls: 0 }
    const end = await made().other.watch(() => {
      seen.calls += 1
    })
    const told = async (change: () => Promise<unknown>): Promise<void> => {
      const before = seen.calls
      await change()
      const isTold = (): boolean => seen.calls > before
      for (let waitedMs = 0; !isTold() && waitedMs < WATCH_MS_MAX; waitedMs += 10) await made().pass(10)
      expect(seen.calls).toBeGreaterThan(before)
    }
    const held: ShardLease[] = []
    await told(async () => held.push(await take(made().leases, 0, 'a')))
    for (const lease of held) await told(() => made().leases.release(lease))
    await told(() => made().leases.announce('a', LONG_MS))
    await told(() => made().leases.withdraw('a'))
    end()
    const before = seen.calls
    await take(made().leases, 1, 'a')
    await made().pass(200)
    expect(seen.calls).toBe(before)
  })
}

async function take(
  leases: ShardLeases,
  shard: number,
  owner: string,
  leaseMs = LONG_MS,
): Promise<ShardLease> {
  const lease = await leases.acquire(shard, owner, leaseMs)
  if (lease === undefined) throw new Error(`shard ${shard} was not given to ${owner}`)
  return lease
}

const owners = async (leases: ShardLeases): Promise<string[]> =>
  (await leases.list()).map((lease) => `${lease.shard} ${lease.owner}`).sort()
