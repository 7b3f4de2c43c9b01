import type { Clock, ShardLease, ShardLeases } from '@torpor/contracts'
import { fault, LIMITS } from '@torpor/contracts'
import type { PubAck } from './jetstream-api.ts'
import { isWrongSequence, parseAnswer } from './jetstream-api.ts'
import type { LeaseEntry, LeaseValue } from './lease-view.ts'
import { LEASE_SUBJECTS, LeaseView } from './lease-view.ts'
import type { BusLink } from './link.ts'
import { unanswered } from './link.ts'

const SHARD_KEY = 'shard.'
const MEMBER_KEY = 'member.'
const shardKey = (shard: number): string => `${SHARD_KEY}${shard}`
const memberKey = (member: string): string => `${MEMBER_KEY}${member}`

/**
 * Leases in the bucket SHARDS: `shard.<n>` and `member.<name>`, changed by compare-and-set on the key's revision.
 * They serve liveness: who holds a lease may be wrong about it for a moment, and the log's fence is what decides.
 */
export function shardLeases(
  link: BusLink,
  clock: Clock,
): ShardLeases & {
  /** Begins to observe the bucket, which the first use does otherwise. */
  start(): void
  close(): void
} {
  const view = new LeaseView(link, clock)
  const context = { link, clock, view }
  return {
    async list() {
      await view.sync()
      return [...view.entries()].flatMap(([key, entry]) => toLease(context, key, entry) ?? [])
    },
    acquire: (shard, owner, leaseMs) => acquire(context, shard, owner, leaseMs),
    renew: (lease, leaseMs) => renew(context, lease, leaseMs),
    release: (lease) => release(context, lease),
    announce: (member, leaseMs) => announce(context, member, leaseMs),
    withdraw: async (member) => void (await write(context, memberKey(member), undefined)),
    async members() {
      await view.sync()
      const alive = [...view.entries()].filter(([key, entry]) => isMember(key) && !view.isExpired(entry))
      return alive.map(([key]) => key.slice(MEMBER_KEY.length)).sort()
    },
    async watch(changed) {
      const end = view.watch(changed)
      await view.sync()
      return end
    },
    start: () => view.start(),
    close: () => view.close(),
  }
}

type Context = { readonly link: BusLink; readonly clock: Clock; readonly view: LeaseView }

const isMember = (key: string): boolean => key.startsWith(MEMBER_KEY)

function toLease({ clock, view }: Context, key: string, entry: LeaseEntry): ShardLease | undefined {
  if (!key.startsWith(SHARD_KEY) || entry.value === undefined || view.isExpired(entry)) return undefined
  const leftMs = entry.value.leaseMs - (clock.monotonicMs() - entry.seenAtMs)
  return {
    shard: Number(key.slice(SHARD_KEY.length)),
    owner: entry.value.owner,
    expiresAtMs: clock.nowMs() + leftMs,
    revision: entry.revision,
  }
}

async function acquire(
  context: Context,
  shard: number,
  owner: string,
  leaseMs: number,
): Promise<ShardLease | undefined> {
  await context.view.sync()
  const entry = context.view.entries().get(shardKey(shard))
  const free = entry === undefined || entry.value?.owner === owner || context.view.isExpired(entry)
  if (!free) return undefined
  const value = { owner, leaseMs }
  const taken = await writeLease(context, shard, value, entry?.revision ?? 0)
  // The marker of a lease that was given back long ago leaves the bucket; then the key counts as never written.
  if (taken !== undefined || entry === undefined || entry.value !== undefined) return taken
  return writeLease(context, shard, value, 0)
}

async function renew(context: Context, lease: ShardLease, leaseMs: number): Promise<ShardLease | undefined> {
  const value = { owner: lease.owner, leaseMs }
  const renewed = await writeLease(context, lease.shard, value, lease.revision)
  if (renewed !== undefined) return renewed
  const own = await ownEntry(context, lease)
  return own === undefined ? undefined : writeLease(context, lease.shard, value, own.revision)
}

async function release(context: Context, lease: ShardLease): Promise<void> {
  const key = shardKey(lease.shard)
  if ((await write(context, key, undefined, lease.revision)) !== undefined) return
  const own = await ownEntry(context, lease)
  if (own !== undefined) await write(context, key, undefined, own.revision)
}

/** After a lost answer the bucket may hold a newer revision of the same owner's own lease: that is still its lease. */
async function ownEntry({ view }: Context, lease: ShardLease): Promise<LeaseEntry | undefined> {
  await view.sync()
  const entry = view.entries().get(shardKey(lease.shard))
  return entry?.value?.owner === lease.owner ? entry : undefined
}

async function announce(context: Context, member: string, leaseMs: number): Promise<void> {
  await write(context, memberKey(member), { owner: member, leaseMs })
}

async function writeLease(
  context: Context,
  shard: number,
  value: LeaseValue,
  expectedRevision: number,
): Promise<ShardLease | undefined> {
  const expiresAtMs = context.clock.nowMs() + value.leaseMs
  const revision = await write(context, shardKey(shard), value, expectedRevision)
  return revision === undefined ? undefined : { shard, owner: value.owner, expiresAtMs, revision }
}

/** Writes a key, or its end; undefined when its revision was another. Fault BUS_UNAVAILABLE when that is not known. */
async function write(
  { link }: Context,
  key: string,
  value: LeaseValue | undefined,
  expectedRevision?: number,
): Promise<number | undefined> {
  const subject = LEASE_SUBJECTS + key
  const headers = {
    ...(expectedRevision === undefined
      ? {}
      : { 'Nats-Expected-Last-Subject-Sequence': `${expectedRevision}` }),
    ...(value === undefined ? { 'KV-Operation': 'DEL' } : {}),
  }
  const data = value === undefined ? '' : JSON.stringify(value)
  const answer = await link.ask(subject, data, { timeoutMs: LIMITS.leaseRequestTimeoutMs, headers })
  if (answer.kind !== 'answered') throw unanswered(link, answer, subject)
  const { seq, error } = parseAnswer<PubAck>(answer.data)
  if (error === undefined) return seq
  if (isWrongSequence(error)) return undefined
  throw fault('BUS_UNAVAILABLE', subject, { detail: error.description ?? `code ${error.code}`, cause: error })
}
