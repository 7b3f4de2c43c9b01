import type { AppendResult, Clock, EventLog, ShardLog } from '@torpor/contracts'
import { LIMITS, fault } from '@torpor/contracts'
import type { SeededRandom } from '../random.ts'
import type { SimulatedProcess } from '../process.ts'
import type { FaultPlan, SentAppend } from './append-faults.ts'
import { noFaults } from './append-faults.ts'
import { createFrameStore } from './frame-store.ts'
import type { FrameStore } from './frame-store.ts'

export type SimulatedLogOptions = {
  readonly shards: number
  readonly clock: Clock
  readonly random: SeededRandom
  /** One way between a client and the log, in milliseconds. */
  readonly latencyMs?: { readonly min: number; readonly max: number }
  /** Milliseconds between two syncs; absent: each append is synced before its answer. */
  readonly syncEveryMs?: number
}

/** A late append arrives this much after its sender gave up, at most. */
const LATE_MS_MAX = 10_000

/**
 * An event log with the semantics of JetStream: an append is judged when it arrives, by the last sequence at that moment;
 * messages of one connection arrive in the order they were sent. Everything else that can happen is planted.
 */
export class SimulatedLog {
  readonly #options: SimulatedLogOptions
  readonly #stores: readonly FrameStore[]
  readonly #appendCounts: number[]
  readonly published: { readonly subject: string; readonly line: string }[] = []
  #plan: FaultPlan = noFaults
  #isFull = false
  #isDown = false
  /** Until this monotonic time there is no leader: nothing that arrives is stored, and no answer leaves. */
  #leaderlessUntilMs = 0

  constructor(options: SimulatedLogOptions) {
    this.#options = options
    this.#stores = Array.from({ length: options.shards }, () =>
      createFrameStore(() => options.clock.monotonicMs()),
    )
    this.#appendCounts = this.#stores.map(() => 0)
  }

  /** From now on faults follow this plan. */
  plant(plan: FaultPlan): void {
    this.#plan = plan
  }

  /** A full disk: appends are refused, reads go on. */
  setFull(isFull: boolean): void {
    this.#isFull = isFull
  }

  /** Nothing arrives and nothing answers. */
  setDown(isDown: boolean): void {
    this.#isDown = isDown
  }

  /** The leader is gone, for this long: what arrives meanwhile is lost, and so are the answers that were on their way. */
  changeLeader(electionMs: number): void {
    this.#leaderlessUntilMs = Math.max(
      this.#leaderlessUntilMs,
      this.#options.clock.monotonicMs() + electionMs,
    )
  }

  /** A power cut, and a start after it: as a change of leader, and what was not synced is gone. */
  cutPower(downMs: number): void {
    this.changeLeader(downMs)
    const { syncEveryMs, clock } = this.#options
    if (syncEveryMs === undefined) return
    const syncedAtMs = Math.floor(clock.monotonicMs() / syncEveryMs) * syncEveryMs
    for (const store of this.#stores) store.loseAfter(syncedAtMs)
  }

  get shards(): number {
    return this.#options.shards
  }

  /** What is stored, as it stands. */
  frames(shard: number): readonly Uint8Array[] {
    return this.store(shard).frames
  }

  /** The log over a connection of its own, of a process if one is given. */
  connect(process?: SimulatedProcess): EventLog {
    const clock = this.#options.clock
    const wire = { arrivesAtMs: 0, answersAtMs: 0 }
    const gate = process === undefined ? <Result>(result: Promise<Result>) => result : process.gate
    return {
      shards: this.#options.shards,
      shard: (shard) => this.#shardLog(shard, wire, gate),
      publishEvent: (subject, line) => {
        const published = this.published
        clock.after(this.#arrival(wire) - clock.monotonicMs(), () => published.push({ subject, line }))
      },
    }
  }

  #shardLog(shard: number, wire: Wire, gate: SimulatedProcess['gate']): ShardLog {
    const store = this.store(shard)
    const ask = <Result>(answer: () => Result): Promise<Result> => gate(this.#ask(wire, answer))
    return {
      append: (bytes, expectedLastSequence) => {
        this.#appendCounts[shard] = (this.#appendCounts[shard] ?? 0) + 1
        const count = this.#appendCounts[shard] ?? 0
        return gate(this.#append({ shard, count, bytes: bytes.slice(), expectedLastSequence }, wire))
      },
      lastSequence: () => ask(() => store.lastSequence()),
      async *read(from, to) {
        for (const frame of await ask(() => store.between(from, to))) yield frame
      },
      async *follow(from, signal) {
        for (let next = from; !signal.aborted; next += 1) {
          if (!(await gate(store.waitFor(next, signal)))) return
          yield* store.between(next, next)
        }
      },
    }
  }

  #append(append: SentAppend, wire: Wire): Promise<AppendResult> {
    const { clock, random } = this.#options
    const fault = this.#isDown ? 'lost' : this.#plan(append)
    return new Promise((resolve) => {
      const giveUp = (): void => resolve({ kind: 'ambiguous', cause: 'no answer' })
      const cancel = clock.after(LIMITS.appendTimeoutMs, giveUp)
      if (fault === 'lost') return
      const inTime = this.#arrival(wire) - clock.monotonicMs()
      const delayMs = fault === 'late' ? LIMITS.appendTimeoutMs + random.between(1, LATE_MS_MAX) : inTime
      clock.after(delayMs, () => {
        if (this.#isLeaderless()) return
        const result = this.#judge(append, fault)
        if (fault === 'late' || fault === 'unanswered') return
        clock.after(this.#answer(wire) - clock.monotonicMs(), () => {
          if (this.#isLeaderless()) return
          cancel()
          resolve(result)
        })
      })
    })
  }

  #isLeaderless(): boolean {
    return this.#options.clock.monotonicMs() < this.#leaderlessUntilMs
  }

  #judge({ shard, bytes, expectedLastSequence }: SentAppend, planted: string): AppendResult {
    if (this.#isFull || planted === 'refused') return { kind: 'refused', cause: 'no space left' }
    if (planted === 'inFlightConflict') return { kind: 'conflict' }
    return this.store(shard).append(bytes, expectedLastSequence)
  }

  #ask<Result>(wire: Wire, answer: () => Result): Promise<Result> {
    const { clock } = this.#options
    return new Promise((resolve, reject) => {
      if (this.#isDown || this.#isLeaderless()) {
        clock.after(LIMITS.appendTimeoutMs, () => reject(fault('LOG_UNAVAILABLE', 'simulated log')))
        return
      }
      clock.after(this.#arrival(wire) - clock.monotonicMs(), () => {
        const result = answer()
        clock.after(this.#answer(wire) - clock.monotonicMs(), () => resolve(result))
      })
    })
  }

  store(shard: number): FrameStore {
    const store = this.#stores[shard]
    if (store === undefined)
      throw fault('INTERNAL', `shard ${shard}`, { detail: 'the log has no such shard' })
    return store
  }

  #latencyMs(): number {
    const { min, max } = this.#options.latencyMs ?? { min: 0.2, max: 2 }
    return min + this.#options.random.fraction() * (max - min)
  }

  #arrival(wire: Wire): number {
    wire.arrivesAtMs = Math.max(wire.arrivesAtMs, this.#options.clock.monotonicMs() + this.#latencyMs())
    return wire.arrivesAtMs
  }

  #answer(wire: Wire): number {
    wire.answersAtMs = Math.max(wire.answersAtMs, this.#options.clock.monotonicMs() + this.#latencyMs())
    return wire.answersAtMs
  }
}

/** Keeps what goes over one connection in order. */
type Wire = { arrivesAtMs: number; answersAtMs: number }
