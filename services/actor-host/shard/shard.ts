import type { ChainPosition, EntityRef, HostCommand, Outcome } from '@torpor/contracts'
import { SUBJECTS, entityKey, fault } from '@torpor/contracts'
import { AppendPipeline } from './append-pipeline.ts'
import type { Barrier } from './barrier.ts'
import { raiseBarrier } from './barrier.ts'
import type { Desk, StagedEvent } from './deciding.ts'
import { decideCommand } from './deciding.ts'
import type { Entity } from './entity.ts'
import { beginningOf } from './entity.ts'
import type { Moment } from './event-line.ts'
import { momentOf } from './event-line.ts'
import { createFifo } from './fifo.ts'
import { createDurableFloor } from './durable-floor.ts'
import type { FrameDraft } from './frame-draft.ts'
import { createFrameDraft } from './frame-draft.ts'
import { createIdempotencyWindow } from './idempotency-window.ts'
import { foldFrame } from './replay.ts'
import { replayLog } from './replay-log.ts'
import type { ShardEnvironment } from './shard-environment.ts'
import { createShardState } from './shard-state.ts'
import type { ShardTimers } from './shard-timers.ts'
import { createShardTimers, fireTimerCommand } from './shard-timers.ts'
import type { ReadResult, Waiting } from './waiting.ts'
import { answer } from './waiting.ts'

/**
 * opening: barrier and replay · deciding · recovering: an append ended without its PubAck · unavailable: as recovering, and the
 * log takes no barrier · closing: frames in flight end, nothing is decided · closed.
 */
type Status = 'opening' | 'deciding' | 'recovering' | 'unavailable' | 'closing' | 'closed'

/**
 * One shard, from the moment its lease is taken to the moment it is given up: mailbox, decisions, frames in flight, answers.
 *
 * 1. Every answer leaves after the frame that it depends on is committed.
 * 2. After an append that ended in any other way nothing is decided until a barrier of the next epoch is committed; frames in
 *    flight are dropped, their commands are decided again in the order of acceptance. A frame is never sent twice.
 * 3. Nothing is decided, refusals and reads neither, while the lease has run out: another owner may have committed since.
 * 4. A command whose dropped frame turns out committed is answered with what was decided then.
 */
export class Shard {
  readonly index: number
  readonly #env: ShardEnvironment
  readonly #desk: Desk
  readonly #timers: ShardTimers
  readonly #mailbox = createFifo<Waiting>()
  readonly #ownBarriers = new Set<string>()
  readonly #floor = createDurableFloor()
  readonly #pipeline: AppendPipeline
  #status: Status = 'opening'
  #serial = 0
  #epoch = 0
  #heldUntilMs = 0
  #isPumpDue = false

  constructor(env: ShardEnvironment) {
    this.#env = env
    this.index = env.shard
    const state = createShardState()
    this.#desk = {
      deciders: env.deciders,
      state,
      window: createIdempotencyWindow(env.limits),
      newId: env.newId,
      source: `torpor/${env.owner}`,
      limits: env.limits,
      durableFloor: () => this.#floor.sequence,
    }
    this.#pipeline = new AppendPipeline({
      shard: env.shard,
      log: env.log.shard(env.shard),
      appendsInFlightMax: env.limits.appendsInFlightMax,
      committed: (draft) => this.#commit(draft),
      broken: () => void this.#recover(),
      moved: () => this.#pump(),
    })
    this.#timers = createShardTimers({
      clock: env.clock,
      deciders: env.deciders,
      state,
      limits: env.limits,
      fire: (entity, id) => this.submit(fireTimerCommand(entity, id, env.owner, env.newId())),
    })
  }

  /** Takes the log over: barrier, then replay. Rejects with `SHARD_MOVED`, `CONFIG_INVALID` or `INTERNAL`. */
  async open(): Promise<void> {
    const { log, shard, clock, limits } = this.#env
    for (let highest = Number.POSITIVE_INFINITY; highest >= this.#epoch;) {
      const barrier = await this.#raiseBarrier(undefined)
      this.#epoch = barrier.epoch
      const keepMs = limits.idempotencyWindowMs + limits.clockSkewMsMax
      const from = this.#pipeline.committed
      const replayed = await replayLog(log, from, barrier.position.frame, () => this.#isOver(), {
        shard,
        shards: log.shards,
        desk: this.#desk,
        rememberFromMs: clock.nowMs() - keepMs,
      })
      highest = replayed.highestEpochBefore
      this.#pipeline.restart(replayed.position)
      this.#floor.restart(barrier.durableFloor)
    }
    if (this.#isOver()) throw fault('SHARD_MOVED', `shard ${shard}`)
    this.#timers.armAll()
    this.#status = 'deciding'
  }

  get isOwned(): boolean {
    return this.#status === 'deciding' || this.#status === 'recovering' || this.#status === 'unavailable'
  }

  /** The lease lasts until this monotonic time. */
  hold(untilMonotonicMs: number): void {
    this.#heldUntilMs = untilMonotonicMs
    this.#pumpSoon()
  }

  submit(command: HostCommand): Promise<Outcome> {
    return new Promise((resolve, reject) => {
      const key = entityKey(command.target)
      this.#accept(
        { kind: 'command', serial: this.#serial++, key, command, resolve, reject, outcome: undefined },
        reject,
      )
    })
  }

  read(ref: EntityRef): Promise<ReadResult> {
    const key = entityKey(ref)
    if (this.#status === 'unavailable' && this.#isHeld()) {
      return Promise.resolve(this.#resultOf(this.#desk.state.committed(key)))
    }
    return new Promise((resolve, reject) => {
      this.#accept(
        { kind: 'read', serial: this.#serial++, key, ref, resolve, reject, result: undefined },
        reject,
      )
    })
  }

  peek(ref: EntityRef): unknown {
    const entity = this.#desk.state.committed(entityKey(ref))
    return beginningOf(entity, this.#env.clock.nowMs()).state
  }

  entities(): Iterable<Entity> {
    return this.#desk.state.all()
  }

  get durableFloor(): number {
    return this.#floor.sequence
  }

  /** All durable commands up to `sequence` are decided, here or as another shard's. */
  advanceDurable(sequence: number): void {
    this.#floor.raise(sequence)
    if (this.#floor.isDue) this.#pumpSoon()
  }

  /** Stops deciding, lets the frames in flight end, refuses what waits. */
  async close(): Promise<void> {
    if (this.#status === 'closed') return
    this.#status = 'closing'
    this.#timers.stop()
    this.#rejectAll(this.#mailbox.drain(), 'SHARD_MOVED')
    await this.#pipeline.idle()
    this.#end()
  }

  /** The shard is another owner's: everything that waits is refused at once. */
  giveUp(): void {
    this.#end()
  }

  #accept(waiting: Waiting, reject: (cause: Error) => void): void {
    if (this.#status === 'unavailable') return reject(fault('LOG_UNAVAILABLE', `shard ${this.index}`))
    if (!this.isOwned) return reject(fault('SHARD_MOVED', `shard ${this.index}`))
    if (this.#mailbox.size >= this.#env.limits.mailboxCommandsMax) {
      return reject(fault('SHARD_BUSY', `shard ${this.index}`))
    }
    this.#mailbox.push(waiting)
    this.#pumpSoon()
  }

  #isHeld(): boolean {
    return this.#env.clock.monotonicMs() < this.#heldUntilMs
  }

  #isOver(): boolean {
    return this.#status === 'closing' || this.#status === 'closed'
  }

  #mayDecide(): boolean {
    return this.#status === 'deciding' && this.#pipeline.free > 0 && this.#isHeld()
  }

  /** What is accepted in the same turn goes out together. */
  #pumpSoon(): void {
    if (this.#isPumpDue) return
    this.#isPumpDue = true
    queueMicrotask(() => {
      this.#isPumpDue = false
      this.#pump()
    })
  }

  #pump(): void {
    while (this.#mayDecide() && (this.#mailbox.size > 0 || this.#floor.isDue)) {
      const draft = createFrameDraft(this.#moment(), this.#env.limits)
      this.#fill(draft)
      if (draft.events.length > 0 || this.#floor.isDue) this.#pipeline.send(draft, this.#floor.written())
      else if (this.#mailbox.size > 0) {
        setImmediate(() => this.#pumpSoon())
        return
      }
    }
  }

  #moment(): Moment {
    const { timeMs, frame } = this.#pipeline.ahead
    const nowMs = Math.max(this.#env.clock.nowMs(), timeMs)
    return momentOf(nowMs, this.#epoch, frame + 1)
  }

  /**
   * What waits is spread over the frames that may go: the log syncs one while the next is decided. All in one frame would let
   * writers that wait for their answers march in step, and log and owner take turns.
   */
  #fill(draft: FrameDraft): void {
    const { frameCommandsMin } = this.#env.limits
    const share = Math.max(frameCommandsMin, Math.ceil(this.#mailbox.size / this.#pipeline.free))
    for (let decided = 0; decided < share; decided += 1) {
      const waiting = this.#mailbox.shift()
      if (waiting === undefined) return
      const isTaken = waiting.kind === 'read' ? this.#takeRead(waiting, draft) : this.#take(waiting, draft)
      if (isTaken) continue
      this.#mailbox.putBack([waiting])
      return
    }
  }

  #takeRead(waiting: Waiting & { kind: 'read' }, draft: FrameDraft): true {
    const entity = this.#desk.state.find(waiting.key)
    waiting.result = this.#resultOf(entity)
    this.#answerAfter(waiting, entity?.frame ?? 0, draft)
    return true
  }

  #take(waiting: Waiting & { kind: 'command' }, draft: FrameDraft): boolean {
    const { command } = waiting
    const { window, state } = this.#desk
    const decided = decideCommand(command, this.#desk, draft.moment)
    if (!draft.fits(decided.events)) return false
    const { outcome, events, frame } = decided
    if (outcome.duplicate && waiting.outcome !== undefined && !waiting.outcome.duplicate) {
      window.amend(command.id, waiting.outcome)
    } else waiting.outcome = outcome
    if (events.length > 0) {
      const { digest } = command
      window.remember(command.id, { digest, outcome, timeMs: draft.moment.nowMs, frame })
      draft.add(command.id, decided)
      for (const { entity } of events) if (entity !== undefined) state.stage(entity)
    } else if (command.durableSequence !== undefined) {
      this.#floor.acceptedWithoutEvent(command.durableSequence)
    }
    this.#answerAfter(waiting, frame, draft)
    return true
  }

  #answerAfter(waiting: Waiting, frame: number, draft: FrameDraft): void {
    if (frame <= this.#pipeline.committed.frame) return answer(waiting)
    const carrier = frame === draft.moment.frame ? draft : this.#pipeline.find(frame)
    carrier?.waiting.push(waiting)
  }

  #resultOf(entity: Entity | undefined): ReadResult {
    const { state, version } = beginningOf(entity, this.#env.clock.nowMs())
    return { state, version }
  }

  #commit(draft: FrameDraft): void {
    for (const event of draft.events) this.#commitEvent(event)
    for (const waiting of draft.waiting) answer(waiting)
    this.#publish(draft.events)
    this.#desk.state.forgetGone(draft.moment.nowMs)
  }

  #commitEvent(event: StagedEvent): void {
    if (event.entity !== undefined) {
      this.#desk.state.commit(event.entity)
      this.#timers.arm(event.entity, event.before)
    }
    this.#env.committed(this.index, event)
  }

  #publish(events: readonly StagedEvent[]): void {
    for (const { ref, line } of events) this.#env.log.publishEvent(SUBJECTS.event(ref), line)
  }

  async #recover(): Promise<void> {
    this.#dropAhead()
    if (this.#status === 'closing') return
    this.#status = 'recovering'
    try {
      const barrier = await this.#raiseBarrier(this.#pipeline.committed)
      if (this.#isOver()) return
      this.#foldRecovered(barrier)
      this.#status = 'deciding'
      this.#pump()
    } catch (cause) {
      if (this.#isOver()) return
      this.#end()
      this.#env.ended(this.index, cause instanceof Error ? cause : new Error(String(cause)))
    }
  }

  #dropAhead(): void {
    const drafts = this.#pipeline.drop()
    this.#desk.state.dropAhead()
    for (const draft of drafts) for (const id of draft.commandIds) this.#desk.window.forget(id)
    const again = drafts.flatMap((draft) => draft.waiting).toSorted((a, b) => a.serial - b.serial)
    if (this.#status === 'closing') this.#rejectAll(again, 'SHARD_MOVED')
    else this.#mailbox.putBack(again)
  }

  #foldRecovered(barrier: Barrier): void {
    const events: StagedEvent[] = []
    for (const frame of barrier.frames) {
      foldFrame(frame, {
        shard: this.index,
        shards: this.#env.log.shards,
        desk: this.#desk,
        rememberFromMs: 0,
        committed: (event) => {
          events.push(event)
          if (event.entity !== undefined) this.#timers.arm(event.entity, event.before)
          this.#env.committed(this.index, event)
        },
      })
    }
    this.#epoch = barrier.epoch
    this.#pipeline.restart(barrier.position)
    this.#floor.restart(barrier.durableFloor)
    this.#publish(events)
  }

  #raiseBarrier(start: ChainPosition | undefined): Promise<Barrier> {
    const { owner, log, clock, newId, limits } = this.#env
    return raiseBarrier(
      {
        shard: this.index,
        shards: log.shards,
        owner,
        log: log.shard(this.index),
        clock,
        newId,
        limits,
        ownBarriers: this.#ownBarriers,
        durableFloor: () => this.#floor.sequence,
        isHeld: () => this.#isHeld(),
        isGivenUp: () => this.#isOver(),
        unavailable: () => {
          if (this.#status === 'recovering') this.#status = 'unavailable'
        },
      },
      start,
    )
  }

  #rejectAll(waiting: readonly Waiting[], code: 'SHARD_MOVED'): void {
    for (const { reject } of waiting) reject(fault(code, `shard ${this.index}`))
  }

  #end(): void {
    this.#status = 'closed'
    this.#timers.stop()
    this.#dropAhead()
    this.#rejectAll(this.#mailbox.drain(), 'SHARD_MOVED')
  }
}
