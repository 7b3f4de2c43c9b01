import { array, assert, constantFrom, integer, nat, property, record, tuple, uniqueArray } from 'fast-check'
import { describe, expect, test } from 'vitest'
import { shareOut } from './share-out.ts'

const MEMBERS = ['a', 'b', 'c', 'd', 'e']
const cases = record({
  shards: integer({ min: 1, max: 64 }),
  members: uniqueArray(constantFrom(...MEMBERS), { minLength: 1 }),
  owners: array(tuple(nat({ max: 63 }), constantFrom(...MEMBERS, 'gone'))),
})

const sizes = (shares: ReadonlyMap<number, string>, members: readonly string[]): number[] =>
  members.map((member) => [...shares.values()].filter((owner) => owner === member).length)

describe('sharing out', () => {
  test('gives every shard to a member, and to none over one more than to another', () => {
    assert(
      property(cases, ({ shards, members, owners }) => {
        const shares = shareOut(shards, members, new Map(owners))
        expect([...shares.keys()].toSorted((a, b) => a - b)).toEqual(
          Array.from({ length: shards }, (_, n) => n),
        )
        const counts = sizes(shares, members)
        expect(Math.max(...counts) - Math.min(...counts)).toBeLessThanOrEqual(1)
      }),
    )
  })

  test('changes nothing when it is applied to its own result', () => {
    assert(
      property(cases, ({ shards, members, owners }) => {
        const shares = shareOut(shards, members, new Map(owners))
        expect(shareOut(shards, members, shares)).toEqual(shares)
      }),
    )
  })

  test('is the same whatever the order of the members', () => {
    assert(
      property(cases, ({ shards, members, owners }) => {
        const reversed = members.toReversed()
        expect(shareOut(shards, reversed, new Map(owners))).toEqual(
          shareOut(shards, members, new Map(owners)),
        )
      }),
    )
  })

  test('takes from an owner only what is over its share', () => {
    assert(
      property(cases, ({ shards, members, owners }) => {
        const before = new Map(owners)
        const shares = shareOut(shards, members, before)
        for (const member of members) {
          const had = [...before].filter(([shard, owner]) => owner === member && shard < shards).length
          const kept = [...shares].filter(
            ([shard, owner]) => owner === member && before.get(shard) === member,
          ).length
          expect(kept).toBeGreaterThanOrEqual(Math.min(had, Math.floor(shards / members.length)))
        }
      }),
    )
  })

  test('moves two of four shards to a second member, and all to the one that is left', () => {
    const all = new Map([0, 1, 2, 3].map((shard) => [shard, 'a']))
    const two = shareOut(4, ['a', 'b'], all)
    expect([...two].toSorted(([a], [b]) => a - b)).toEqual([
      [0, 'a'],
      [1, 'a'],
      [2, 'b'],
      [3, 'b'],
    ])
    expect(sizes(shareOut(4, ['b'], two), ['b'])).toEqual([4])
  })

  test('gives nothing when there is no member', () => {
    expect(shareOut(4, [], new Map()).size).toBe(0)
  })
})
