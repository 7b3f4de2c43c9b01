/**
 * Which member should own which shard. Every member computes the same from the same facts.
 *
 * 1. No member has over one shard more than another.
 * 2. Who owns a shard keeps it, as far as 1 allows.
 * 3. A shard whose owner is no member (any more) goes to one.
 *
 * @example shareOut(4, ['a', 'b'], new Map([[0, 'a'], [1, 'a'], [2, 'a'], [3, 'a']])) // 0 and 1 stay with a, 2 and 3 go to b
 */
export function shareOut(
  shards: number,
  members: readonly string[],
  owners: ReadonlyMap<number, string>,
): ReadonlyMap<number, string> {
  const shares = new Map<number, string>()
  if (members.length === 0) return shares
  const owned = (member: string): number[] =>
    Array.from({ length: shards }, (_, shard) => shard).filter((shard) => owners.get(shard) === member)
  const ranked = [...new Set(members)]
    .map((member) => ({ member, owned: owned(member) }))
    .toSorted((a, b) => b.owned.length - a.owned.length || (a.member < b.member ? -1 : 1))
  const least = Math.floor(shards / ranked.length)
  const withOneMore = shards % ranked.length
  const room = ranked.map(({ member, owned }, rank) => {
    const share = rank < withOneMore ? least + 1 : least
    for (const shard of owned.slice(0, share)) shares.set(shard, member)
    return { member, left: share - Math.min(share, owned.length) }
  })
  for (let shard = 0; shard < shards; shard += 1) {
    if (shares.has(shard)) continue
    const taker = room.find(({ left }) => left > 0)
    if (taker === undefined) break
    taker.left -= 1
    shares.set(shard, taker.member)
  }
  return shares
}
