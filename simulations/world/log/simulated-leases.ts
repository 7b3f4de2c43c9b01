import type { Clock, ShardLease, ShardLeases } from '@torpor/contracts'
import type { SeededRandom } from '../random.ts'
import type { SimulatedProcess } from '../process.ts'

const LATENCY_MS_MAX = 2

/** Leases by compare-and-set, as one server keeps them. */
export class SimulatedLeases {
  readonly #clock: Clock
  readonly #random: SeededRandom
  readonly #leases = new Map<number, ShardLease>()
  readonly #members = new Map<string, number>()
  readonly #watchers = new Set<() => void>()
  #revision = 0

  constructor(clock: Clock, random: SeededRandom) {
    this.#clock = clock
    this.#random = random
  }

  /** The leases over a connection of its own, of a process if one is given. */
  connect(process?: SimulatedProcess): ShardLeases {
    const gate = process === undefined ? <Result>(result: Promise<Result>) => result : process.gate
    const ask = <Result>(answer: () => Result): Promise<Result> => gate(this.#ask(answer))
    return {
      list: () => ask(() => this.#live()),
      acquire: (shard, owner, leaseMs) => ask(() => this.#acquire(shard, owner, leaseMs)),
      renew: (lease, leaseMs) => ask(() => this.#renew(lease, leaseMs)),
      release: (lease) => ask(() => this.#release(lease)),
      announce: (member, leaseMs) => ask(() => this.#announce(member, leaseMs)),
      withdraw: (member) => ask(() => this.#withdraw(member)),
      members: () => ask(() => this.#liveMembers()),
      watch: (changed) => ask(() => this.#watch(() => void gate(Promise.resolve()).then(changed))),
    }
  }

  #acquire(shard: number, owner: string, leaseMs: number): ShardLease | undefined {
    const held = this.#leases.get(shard)
    if (held !== undefined && held.owner !== owner && held.expiresAtMs > this.#clock.nowMs()) return undefined
    return this.#put(shard, owner, leaseMs)
  }

  #renew(lease: ShardLease, leaseMs: number): ShardLease | undefined {
    return this.#holds(lease) ? this.#put(lease.shard, lease.owner, leaseMs) : undefined
  }

  #release(lease: ShardLease): void {
    if (!this.#holds(lease)) return
    this.#leases.delete(lease.shard)
    this.#tell()
  }

  #announce(member: string, leaseMs: number): void {
    const isNew = !this.#liveMembers().includes(member)
    this.#members.set(member, this.#clock.nowMs() + leaseMs)
    if (isNew) this.#tell()
  }

  #withdraw(member: string): void {
    this.#members.delete(member)
    this.#tell()
  }

  #watch(changed: () => void): () => void {
    this.#watchers.add(changed)
    return () => this.#watchers.delete(changed)
  }

  #put(shard: number, owner: string, leaseMs: number): ShardLease {
    this.#revision += 1
    const lease = { shard, owner, expiresAtMs: this.#clock.nowMs() + leaseMs, revision: this.#revision }
    const before = this.#leases.get(shard)
    this.#leases.set(shard, lease)
    if (before?.owner !== owner) this.#tell()
    return lease
  }

  #holds(lease: ShardLease): boolean {
    return this.#leases.get(lease.shard)?.revision === lease.revision
  }

  #live(): readonly ShardLease[] {
    return [...this.#leases.values()].filter((lease) => lease.expiresAtMs > this.#clock.nowMs())
  }

  #liveMembers(): readonly string[] {
    return [...this.#members].filter(([, untilMs]) => untilMs > this.#clock.nowMs()).map(([member]) => member)
  }

  #tell(): void {
    for (const changed of this.#watchers) this.#clock.after(this.#latencyMs(), changed)
  }

  #ask<Result>(answer: () => Result): Promise<Result> {
    return new Promise((resolve) => {
      this.#clock.after(this.#latencyMs(), () => {
        const result = answer()
        this.#clock.after(this.#latencyMs(), () => resolve(result))
      })
    })
  }

  #latencyMs(): number {
    return this.#random.fraction() * LATENCY_MS_MAX
  }
}
