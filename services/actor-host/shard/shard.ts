import type {
  AppendResult,
  ChainPosition,
  Clock,
  Decider,
  EntityKind,
  EntityRef,
  EventLog,
  HostCommand,
  Outcome,
} from '@torpor/contracts'
import { CHAIN_START, SUBJECTS, entityKey, fault, sha256Hex } from '@torpor/contracts'
import type { HostLimits } from '../limits.ts'
import type { Barrier } from './barrier.ts'
import { raiseBarrier } from './barrier.ts'
import type { Desk, StagedEvent } from './deciding.ts'
import { decideCommand } from './deciding.ts'
import type { Entity } from './entity.ts'
import { beginningOf } from './entity.ts'
import type { Moment } from './event-line.ts'
import { createFifo } from './fifo.ts'
import type { FrameDraft } from './frame-draft.ts'
import { createFrameDraft } from './frame-draft.ts'
import { createIdempotencyWindow } from './idempotency-window.ts'
import { foldFrame } from './replay.ts'
import { replayLog } from './replay-log.ts'
import { createShardState } from './shard-state.ts'
import type { ShardTimers } from './shard-timers.ts'
import { createShardTimers } from './shard-timers.ts'
import type { ReadResult, Waiting } from './waiting.ts'
import { answer } from './waiting.ts'

export type ShardEnvironment = {
  readonly shard: number
  readonly owner: string
  readonly log: EventLog
  readonly clock: Clock
  readonly newId: () => string
  readonly deciders: ReadonlyMap<EntityKind, Decider<unknown>>
  readonly limits: HostLimits
  /** An event was committed, in the order of the log. */
  committed(shard: number, event: StagedEvent): void
  /** The shard ended by itself: another owner was seen, or the log is not as it must be. */
  ended(shard: Shard, cause: Error): void
}

/**
 * opening: barrier and replay · deciding · recovering: an append ended without its PubAck · unavailable: as recovering, and the
 * log takes no barrier · closing: frames in flight end, nothing is decided · closed.
 */
type Status = 'opening' | 'deciding' | 'recovering' | 'unavailable' | 'closing' | 'closed'

type InFlight = { readonly draft: FrameDraft; readonly position: ChainPosition; isAcked: boolean }

/**
 * One shard, from the moment its lease is taken to the moment it is given up: mailbox, decisions, frames in flight, answers.
 *
 * 1. Every answer leaves after the frame that it depends on is committed.
 * 2. Frames are committed here in the order of the log, each after its own PubAck.
 * 3. After an append that ended in any other way nothing is decided until a barrier of the next epoch is committed; frames in
 *    flight are dropped, their commands are decided again in the order of acceptance. A frame is never sent twice.
 * 4. Nothing is decided, refusals and reads neither, while the lease has run out: another owner may have committed since.
 * 5. A command whose dropped frame turns out committed is answered with what was decided then.
 */
export class Shard {
  readonly index: number
  readonly #env: ShardEnvironment
  readonly #desk: Desk
  readonly #timers: ShardTimers
  readonly #mailbox = createFifo<Waiting>()
  readonly #ownBarriers = new Set<string>()
  #inFlight: InFlight[] = []
  #status: Status = 'opening'
  /** Raised by each recovery, so that answers to frames that were dropped are told apart. */
  #pipeline = 0
  #serial = 0
  #epoch = 0
  #committed: ChainPosition = CHAIN_START
  #ahead: ChainPosition = CHAIN_START
  #durableFloor = 0
  /** A durable command up to here was accepted without an event: the floor must be written, or it may be decided twice. */
  #floorOwed = 0
  #floorWritten = 0
  #heldUntilMs = 0
  #isPumpDue = false
  #idle: (() => void) | undefined

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
      durableFloor: () => this.#durableFloor,
    }
    this.#timers = createShardTimers({
      clock: env.clock,
      deciders: env.deciders,
      state,
      limits: env.limits,
      fire: (entity, id) => this.#fireTimer(entity, id),
    })
  }

  /** Takes the log over: barrier, then replay. Rejects with `SHARD_MOVED`, `CONFIG_INVALID` or `INTERNAL`. */
  async open(): Promise<void> {
    const { log, shard, clock, limits } = this.#env
    for (let highest = Number.POSITIVE_INFINITY; highest >= this.#epoch;) {
      const barrier = await this.#raiseBarrier(undefined)
      this.#epoch = barrier.epoch
      const keepMs = limits.idempotencyWindowMs + limits.clockSkewMsMax
      const replayed = await replayLog(log, this.#committed, barrier.position.frame, () => this.#isOver(), {
        shard,
        shards: log.shards,
        desk: this.#desk,
        rememberFromMs: clock.nowMs() - keepMs,
      })
      highest = replayed.highestEpochBefore
      this.#committed = replayed.position
      this.#floorWritten = Math.max(this.#floorWritten, barrier.durableFloor)
    }
    if (this.#isOver()) throw fault('SHARD_MOVED', `shard ${shard}`)
    this.#durableFloor = Math.max(this.#durableFloor, this.#floorWritten)
    this.#ahead = this.#committed
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
    return this.#durableFloor
  }

  /** All durable commands up to `sequence` are decided, here or as another shard's. */
  advanceDurable(sequence: number): void {
    this.#durableFloor = Math.max(this.#durableFloor, sequence)
    if (this.#floorIsDue()) this.#pumpSoon()
  }

  /** Stops deciding, lets the frames in flight end, refuses what waits. */
  async close(): Promise<void> {
    if (this.#status === 'closed') return
    const hadFrames = this.#status === 'deciding' && this.#inFlight.length > 0
    this.#status = 'closing'
    this.#timers.stop()
    this.#rejectAll(this.#mailbox.drain(), 'SHARD_MOVED')
    if (hadFrames) await new Promise<void>((resolve) => (this.#idle = resolve))
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
    return (
      this.#status === 'deciding' &&
      this.#inFlight.length < this.#env.limits.appendsInFlightMax &&
      this.#isHeld()
    )
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
    while (this.#mayDecide() && (this.#mailbox.size > 0 || this.#floorIsDue())) {
      const draft = createFrameDraft(this.#moment(), this.#env.limits)
      this.#fill(draft)
      if (draft.events.length > 0 || this.#floorIsDue()) this.#send(draft)
      else if (this.#mailbox.size > 0) {
        setImmediate(() => this.#pumpSoon())
        return
      }
    }
  }

  #moment(): Moment {
    const nowMs = Math.max(this.#env.clock.nowMs(), this.#ahead.timeMs)
    return { nowMs, time: timeOf(nowMs), epoch: this.#epoch, frame: this.#ahead.frame + 1 }
  }

  #fill(draft: FrameDraft): void {
    const { frameEventsMax } = this.#env.limits
    for (let decided = 0; decided < frameEventsMax; decided += 1) {
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
      this.#floorOwed = Math.max(this.#floorOwed, command.durableSequence)
    }
    this.#answerAfter(waiting, frame, draft)
    return true
  }

  #answerAfter(waiting: Waiting, frame: number, draft: FrameDraft): void {
    if (frame <= this.#committed.frame) return answer(waiting)
    if (frame === draft.moment.frame) return void draft.waiting.push(waiting)
    this.#inFlight[frame - this.#committed.frame - 1]?.draft.waiting.push(waiting)
  }

  #resultOf(entity: Entity | undefined): ReadResult {
    const { state, version } = beginningOf(entity, this.#env.clock.nowMs())
    return { state, version }
  }

  /** Only a floor that was reached may be written, and only one that must is worth a frame without events. */
  #floorIsDue(): boolean {
    return this.#floorOwed > this.#floorWritten && this.#durableFloor >= this.#floorOwed
  }

  #send(draft: FrameDraft): void {
    const { epoch, frame, nowMs } = draft.moment
    this.#floorWritten = this.#durableFloor
    const bytes = draft.encode({
      format: 'torpor.frame.v1',
      shard: this.index,
      epoch,
      frame,
      timeMs: nowMs,
      frameprev: this.#ahead.frameprev ?? '',
      commandfloor: this.#durableFloor,
    })
    this.#ahead = { epoch, frame, frameprev: sha256Hex(bytes), timeMs: nowMs }
    const sent = { draft, position: this.#ahead, isAcked: false }
    this.#inFlight.push(sent)
    const pipeline = this.#pipeline
    this.#env.log
      .shard(this.index)
      .append(bytes, frame - 1)
      .then(
        (result) => this.#appended(pipeline, sent, result),
        (cause: unknown) => this.#appended(pipeline, sent, { kind: 'ambiguous', cause }),
      )
  }

  #appended(pipeline: number, sent: InFlight, result: AppendResult): void {
    if (pipeline !== this.#pipeline || this.#status === 'closed') return
    if (result.kind !== 'committed') return void this.#recover()
    sent.isAcked = true
    for (let first = this.#inFlight[0]; first?.isAcked === true; first = this.#inFlight[0]) {
      this.#commit(first)
    }
    if (this.#inFlight.length === 0) this.#idle?.()
    this.#pump()
  }

  #commit({ draft, position }: InFlight): void {
    this.#inFlight.shift()
    this.#committed = position
    for (const event of draft.events) this.#commitEvent(event)
    for (const waiting of draft.waiting) answer(waiting)
    this.#publish(draft.events)
    this.#desk.state.forgetGone(position.timeMs)
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
    this.#pipeline += 1
    this.#dropAhead()
    if (this.#status === 'closing') return this.#idle?.()
    this.#status = 'recovering'
    try {
      const barrier = await this.#raiseBarrier(this.#committed)
      if (this.#isOver()) return
      this.#foldRecovered(barrier)
      this.#status = 'deciding'
      this.#pump()
    } catch (cause) {
      if (this.#isOver()) return
      this.#end()
      this.#env.ended(this, cause instanceof Error ? cause : new Error(String(cause)))
    }
  }

  #dropAhead(): void {
    const drafts = this.#inFlight.map(({ draft }) => draft)
    this.#inFlight = []
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
    this.#committed = barrier.position
    this.#ahead = barrier.position
    this.#floorWritten = barrier.durableFloor
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
        durableFloor: () => this.#durableFloor,
        isHeld: () => this.#isHeld(),
        isGivenUp: () => this.#isOver(),
        unavailable: () => {
          if (this.#status === 'recovering') this.#status = 'unavailable'
        },
      },
      start,
    )
  }

  #fireTimer(entity: Entity, id: string): Promise<Outcome> {
    const commandId = this.#env.newId()
    return this.submit({
      id: commandId,
      type: 'FireTimer',
      target: entity.ref,
      data: { id },
      digest: sha256Hex(`FireTimer ${entity.key} ${id}`),
      principal: { principal: this.#env.owner, proof: 'system' },
      correlationId: commandId,
    })
  }

  #rejectAll(waiting: readonly Waiting[], code: 'SHARD_MOVED'): void {
    for (const { reject } of waiting) reject(fault(code, `shard ${this.index}`))
  }

  #end(): void {
    this.#status = 'closed'
    this.#pipeline += 1
    this.#timers.stop()
    this.#dropAhead()
    this.#rejectAll(this.#mailbox.drain(), 'SHARD_MOVED')
    this.#idle?.()
  }
}

let lastTime = { ms: -1, text: '' }

/** The same millisecond gives the same text, made once. */
function timeOf(nowMs: number): string {
  if (lastTime.ms !== nowMs) lastTime = { ms: nowMs, text: new Date(nowMs).toISOString() }
  return lastTime.text
}
