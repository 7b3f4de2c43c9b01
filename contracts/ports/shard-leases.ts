/** Who holds a shard just now. For liveness only: the fence is the log. */
export type ShardLease = {
  readonly shard: number
  readonly owner: string
  readonly expiresAtMs: number
  readonly revision: number
}

/** Leases of shards, by compare-and-set. */
export interface ShardLeases {
  /** All leases that are held: one that ran out is free. */
  list(): Promise<readonly ShardLease[]>
  /** Takes a free, expired or own lease; undefined when another was faster. */
  acquire(shard: number, owner: string, leaseMs: number): Promise<ShardLease | undefined>
  /** Extends an own lease; undefined when it is not held any more. */
  renew(lease: ShardLease, leaseMs: number): Promise<ShardLease | undefined>
  /** Gives an own lease back, so that another takes it at once. */
  release(lease: ShardLease): Promise<void>
  /** Members that are there, for sharing out: each `announce` keeps one for `leaseMs`. */
  announce(member: string, leaseMs: number): Promise<void>
  withdraw(member: string): Promise<void>
  members(): Promise<readonly string[]>
  /** Calls on each change of a lease or member; the returned function ends it. */
  watch(changed: () => void): Promise<() => void>
}
