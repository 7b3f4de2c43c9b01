import type { Clock } from '@torpor/contracts'
import { BUCKETS, fault, LIMITS } from '@torpor/contracts'
import type { DeliveredMessage } from './delivered-message.ts'
import { followStream } from './follow-stream.ts'
import { streamState } from './jetstream-api.ts'
import type { BusLink } from './link.ts'

const LEASE_STREAM = `KV_${BUCKETS.shards}`
export const LEASE_SUBJECTS = `$KV.${BUCKETS.shards}.`

/** A lease or a member as it stands in the bucket. */
export type LeaseValue = { readonly owner: string; readonly leaseMs: number }

export type LeaseEntry = {
  readonly revision: number
  /** Undefined: given back. */
  readonly value: LeaseValue | undefined
  /** Monotonic time at which this observer first saw this revision. */
  readonly seenAtMs: number
}

/**
 * A copy of the bucket that follows it.
 * Invariants: (1) a lease is expired when this observer has seen its revision unchanged for the lease's own time on its
 * own monotonic clock, so clocks of different machines are never compared; (2) after an interruption every observation
 * begins anew, since owners could not renew either; (3) after `sync` the copy holds all that was acknowledged before.
 */
export class LeaseView {
  readonly #link: BusLink
  readonly #clock: Clock
  readonly #entries = new Map<string, LeaseEntry>()
  readonly #watchers = new Set<() => void>()
  readonly #waiters = new Set<() => void>()
  readonly #stop = new AbortController()
  #started = false
  /** All of the stream up to here is in the copy. */
  #position = -1
  /** What `#position` becomes once the messages that waited at the opening are in. */
  #opening = { waiting: 0, position: -1 }

  constructor(link: BusLink, clock: Clock) {
    this.#link = link
    this.#clock = clock
  }

  entries(): ReadonlyMap<string, LeaseEntry> {
    return this.#entries
  }

  isExpired(entry: LeaseEntry): boolean {
    return entry.value === undefined || this.#clock.monotonicMs() - entry.seenAtMs >= entry.value.leaseMs
  }

  watch(changed: () => void): () => void {
    this.#watchers.add(changed)
    return () => this.#watchers.delete(changed)
  }

  /** Begins to observe: what a part has not watched for the whole time of a lease it cannot call expired. */
  start(): void {
    if (!this.#started) void this.#follow()
  }

  /** Resolves when the copy holds what the bucket's leader holds now; fault BUS_UNAVAILABLE after `leaseRequestTimeoutMs`. */
  async sync(): Promise<void> {
    this.start()
    const { lastSequence } = await streamState(this.#link, LEASE_STREAM)
    if (this.#position >= lastSequence) return
    const { promise, resolve, reject } = Promise.withResolvers<void>()
    const check = () => this.#position >= lastSequence && resolve()
    const late = () => reject(fault('BUS_UNAVAILABLE', LEASE_STREAM, { detail: 'its changes do not arrive' }))
    const timer = setTimeout(late, LIMITS.leaseRequestTimeoutMs)
    this.#waiters.add(check)
    await promise.finally(() => {
      clearTimeout(timer)
      this.#waiters.delete(check)
    })
  }

  close(): void {
    this.#stop.abort()
  }

  async #follow(): Promise<void> {
    this.#started = true
    const start = async () => {
      this.#position = -1
      this.#opening.position = (await streamState(this.#link, LEASE_STREAM)).lastSequence
      return { kind: 'newestOfEach' } as const
    }
    const opened = (waiting: number) => this.#opened(waiting)
    const options = { stream: LEASE_STREAM, filter: `${LEASE_SUBJECTS}>`, start, opened }
    for await (const delivered of followStream(this.#link, options, this.#stop.signal)) this.#take(delivered)
  }

  #opened(waiting: number): void {
    const seenAtMs = this.#clock.monotonicMs()
    for (const [key, entry] of this.#entries) this.#entries.set(key, { ...entry, seenAtMs })
    this.#opening.waiting = waiting
    if (waiting === 0) this.#advance(this.#opening.position)
  }

  #take({ message, sequence }: DeliveredMessage): void {
    const key = message.subject.slice(LEASE_SUBJECTS.length)
    const known = this.#entries.get(key)
    if (known?.revision !== sequence) {
      const value = parseValue(message.data)
      this.#entries.set(key, { revision: sequence, value, seenAtMs: this.#clock.monotonicMs() })
    }
    if (this.#opening.waiting > 0) this.#opening.waiting -= 1
    if (this.#opening.waiting === 0) this.#advance(Math.max(sequence, this.#opening.position))
    for (const changed of this.#watchers) changed()
  }

  #advance(position: number): void {
    this.#position = position
    for (const check of this.#waiters) check()
  }
}

/** Markers of deleted keys have no body. */
function parseValue(data: Uint8Array): LeaseValue | undefined {
  if (data.length === 0) return undefined
  const value = JSON.parse(new TextDecoder().decode(data)) as Partial<LeaseValue>
  if (typeof value.owner !== 'string' || typeof value.leaseMs !== 'number') return undefined
  return { owner: value.owner, leaseMs: value.leaseMs }
}
