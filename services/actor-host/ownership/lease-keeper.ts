import type { Clock, ShardLease, ShardLeases } from '@torpor/contracts'
import { TorporError } from '@torpor/contracts'
import type { HostLimits } from '../limits.ts'
import { shareOut } from './share-out.ts'

/** What holds a shard while its lease is held. */
export type LeasedShard = {
  /** The lease lasts until this monotonic time. */
  hold(untilMonotonicMs: number): void
  /** Barrier and replay. Rejects when the shard cannot be owned. */
  open(): Promise<void>
  /** An orderly end: what is in flight may end first. */
  close(): Promise<void>
  /** The lease is another's: an end at once. */
  giveUp(): void
}

export type LeaseKeeperOptions = {
  readonly leases: ShardLeases
  readonly clock: Clock
  readonly owner: string
  readonly shards: number
  readonly limits: Pick<HostLimits, 'shardLeaseMs' | 'shardLeaseRenewMs'>
  make(shard: number): LeasedShard
  opened(shard: number): void
  /** The shard was given up, or given back; only for those that were opened. */
  lost(shard: number): void
  /** A shard could not be opened, or the leases did not answer. */
  failed(cause: Error): void
}

type Held = {
  lease: ShardLease
  readonly shard: LeasedShard
  isOpen: boolean
  isEnding: boolean
  isRenewing: boolean
  /** Renewals and the release of one lease go one after the other: each needs the revision of the one before. */
  work: Promise<unknown>
}

/** Changes of leases and members that come within this are looked at together. */
const GATHER_MS = 5

/**
 * Keeps this member known, takes the shards that are its share, renews their leases, gives back what is over its share.
 *
 * 1. A lease counts from the moment its renewal was sent, by the monotonic clock.
 * 2. A shard is given back only after it stopped deciding.
 * 3. A shard that failed to open is left alone by this member until its next renewal.
 */
export class LeaseKeeper {
  readonly #options: LeaseKeeperOptions
  readonly #held = new Map<number, Held>()
  readonly #openings = new Set<Promise<void>>()
  readonly #failed = new Set<number>()
  #isClosed = false
  #endWatch: (() => void) | undefined
  #cancelRenewal: (() => void) | undefined
  #cancelLook: (() => void) | undefined
  #looking: Promise<void> | undefined
  #isLookDue = false
  #firstFailure: Error | undefined

  constructor(options: LeaseKeeperOptions) {
    this.#options = options
  }

  /** Joins, takes what is free of its share, and resolves when that is open. Rejects with the first reason why a shard could not be. */
  async start(): Promise<void> {
    const { leases, owner, limits } = this.#options
    await leases.announce(owner, limits.shardLeaseMs)
    this.#endWatch = await leases.watch(() => this.#lookSoon(GATHER_MS))
    this.#scheduleRenewal()
    await this.#look()
    while (this.#openings.size > 0) await Promise.all(this.#openings)
    if (this.#firstFailure !== undefined) throw this.#firstFailure
  }

  /** Gives everything back at once, so that others take it in milliseconds. */
  async close(): Promise<void> {
    this.#isClosed = true
    this.#cancelRenewal?.()
    this.#cancelLook?.()
    this.#endWatch?.()
    await this.#looking
    const { leases, owner } = this.#options
    await Promise.all([...this.#held.keys()].map((shard) => this.#giveBack(shard)))
    await leases.withdraw(owner).catch((cause: unknown) => this.#fail(cause))
  }

  /** The shard ended by itself: its lease is given back. */
  ended(index: number): void {
    void this.#giveBack(index)
  }

  #scheduleRenewal(): void {
    this.#cancelRenewal = this.#options.clock.after(this.#options.limits.shardLeaseRenewMs, () => {
      this.#scheduleRenewal()
      void this.#renew()
    })
  }

  async #renew(): Promise<void> {
    const { leases, owner, limits } = this.#options
    this.#failed.clear()
    await Promise.all([
      leases.announce(owner, limits.shardLeaseMs).catch((cause: unknown) => this.#fail(cause)),
      ...[...this.#held].map(([shard, held]) => this.#renewOne(shard, held)),
    ])
    if (!this.#isClosed) await this.#look()
  }

  #renewOne(shard: number, held: Held): Promise<unknown> {
    if (!held.isRenewing) {
      held.isRenewing = true
      held.work = held.work.then(() => this.#renewNow(shard, held))
    }
    return held.work
  }

  async #renewNow(shard: number, held: Held): Promise<void> {
    const { leases, clock, limits } = this.#options
    const sentAtMs = clock.monotonicMs()
    try {
      if (this.#held.get(shard) !== held || held.isEnding) return
      const renewed = await leases.renew(held.lease, limits.shardLeaseMs)
      if (this.#held.get(shard) !== held) return
      if (renewed === undefined) return this.#lose(shard, held)
      held.lease = renewed
      held.shard.hold(sentAtMs + limits.shardLeaseMs)
    } catch (cause) {
      this.#fail(cause)
    } finally {
      held.isRenewing = false
    }
  }

  #lose(shard: number, held: Held): void {
    this.#held.delete(shard)
    held.shard.giveUp()
    if (held.isOpen) this.#options.lost(shard)
  }

  #lookSoon(delayMs: number): void {
    if (this.#isClosed) return
    this.#cancelLook?.()
    this.#cancelLook = this.#options.clock.after(delayMs, () => void this.#look())
  }

  /** Looks at leases and members as they stand and acts on its share; one look at a time, one more when asked meanwhile. */
  #look(): Promise<void> {
    this.#isLookDue = true
    this.#looking ??= (async () => {
      while (this.#isLookDue && !this.#isClosed) {
        this.#isLookDue = false
        await this.#lookOnce().catch((cause: unknown) => this.#fail(cause))
      }
      this.#looking = undefined
    })()
    return this.#looking
  }

  async #lookOnce(): Promise<void> {
    const { leases, owner, shards } = this.#options
    const [members, live] = await Promise.all([leases.members(), leases.list()])
    const owners = new Map(live.map((lease) => [lease.shard, lease.owner]))
    const shares = shareOut(shards, [...new Set([...members, owner])], owners)
    for (const [shard, member] of shares) {
      if (member !== owner) void this.#giveBack(shard)
      else if (!this.#held.has(shard) && !this.#failed.has(shard)) await this.#take(shard, owners)
    }
    this.#lookWhenOneExpires(live, members)
  }

  async #take(shard: number, owners: ReadonlyMap<number, string>): Promise<void> {
    const { leases, clock, owner, limits } = this.#options
    const holder = owners.get(shard)
    if (this.#isClosed || (holder !== undefined && holder !== owner)) return
    const sentAtMs = clock.monotonicMs()
    const lease = await leases.acquire(shard, owner, limits.shardLeaseMs)
    if (lease === undefined) return
    const held: Held = {
      lease,
      shard: this.#options.make(shard),
      isOpen: false,
      isEnding: false,
      isRenewing: false,
      work: Promise.resolve(),
    }
    this.#held.set(shard, held)
    held.shard.hold(sentAtMs + limits.shardLeaseMs)
    const opening = this.#open(shard, held)
    this.#openings.add(opening)
    void opening.then(() => this.#openings.delete(opening))
  }

  async #open(shard: number, held: Held): Promise<void> {
    try {
      await held.shard.open()
      if (this.#held.get(shard) !== held || held.isEnding) return
      held.isOpen = true
      this.#options.opened(shard)
    } catch (cause) {
      if (this.#held.get(shard) !== held || held.isEnding) return
      this.#failed.add(shard)
      this.#fail(cause)
      if (isVerdict(cause)) this.#firstFailure ??= cause instanceof Error ? cause : new Error(String(cause))
      await this.#giveBack(shard)
    }
  }

  async #giveBack(shard: number): Promise<void> {
    const held = this.#held.get(shard)
    if (held === undefined || held.isEnding) return
    held.isEnding = true
    await held.shard.close()
    if (held.isOpen) this.#options.lost(shard)
    await held.work
    if (this.#held.get(shard) === held) this.#held.delete(shard)
    await this.#options.leases.release(held.lease).catch((cause: unknown) => this.#fail(cause))
  }

  /** A lease of a member that is gone is taken when it runs out, not at the next renewal. */
  #lookWhenOneExpires(live: readonly ShardLease[], members: readonly string[]): void {
    const { clock, limits, owner } = this.#options
    const orphans = live.filter((lease) => lease.owner !== owner && !members.includes(lease.owner))
    const firstMs = Math.min(...orphans.map((lease) => lease.expiresAtMs)) - clock.nowMs()
    if (firstMs < limits.shardLeaseRenewMs) this.#lookSoon(Math.max(0, firstMs) + GATHER_MS)
  }

  #fail(cause: unknown): void {
    this.#options.failed(cause instanceof Error ? cause : new Error(String(cause)))
  }
}

/** Trying again later helps with everything else. */
const isVerdict = (cause: unknown): boolean =>
  cause instanceof TorporError && (cause.code === 'CONFIG_INVALID' || cause.code === 'INTERNAL')
