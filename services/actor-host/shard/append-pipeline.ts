import type { AppendResult, ChainPosition, ShardLog } from '@torpor/contracts'
import { CHAIN_START, sha256Hex } from '@torpor/contracts'
import type { FrameDraft } from './frame-draft.ts'

export type AppendPipelineOptions = {
  readonly shard: number
  readonly log: ShardLog
  readonly appendsInFlightMax: number
  /** A frame is in the log, and so is every one before it. */
  committed(draft: FrameDraft): void
  /** An append ended without its PubAck: what became of the frames in flight, only a barrier tells. */
  broken(): void
  /** A frame was committed or dropped; others may go. */
  moved(): void
}

type InFlight = { readonly draft: FrameDraft; readonly position: ChainPosition; isAcked: boolean }

/**
 * The frames of a shard on their way into the log.
 *
 * 1. A frame is sent once, behind the one before it, with the sequence that it will have if all before it are committed.
 * 2. Frames are committed in the order of the log, each after its own PubAck.
 * 3. After the first append that ends in any other way no answer of those in flight is listened to.
 */
export class AppendPipeline {
  readonly #options: AppendPipelineOptions
  #inFlight: InFlight[] = []
  /** Raised when frames are dropped, so that answers to them are told apart. */
  #generation = 0
  #committed: ChainPosition = CHAIN_START
  #ahead: ChainPosition = CHAIN_START
  #idle: (() => void) | undefined

  constructor(options: AppendPipelineOptions) {
    this.#options = options
  }

  /** Of the last frame that is known to be in the log. */
  get committed(): ChainPosition {
    return this.#committed
  }

  /** Of the last frame that was sent. */
  get ahead(): ChainPosition {
    return this.#ahead
  }

  /** So many more frames may be in flight. */
  get free(): number {
    return this.#options.appendsInFlightMax - this.#inFlight.length
  }

  /** Begins behind what the log is known to hold. */
  restart(position: ChainPosition): void {
    this.drop()
    this.#committed = position
    this.#ahead = position
  }

  /** The frame in flight of this number; undefined when it is committed. */
  find(frame: number): FrameDraft | undefined {
    return this.#inFlight[frame - this.#committed.frame - 1]?.draft
  }

  send(draft: FrameDraft, commandfloor: number): void {
    const { epoch, frame, nowMs } = draft.moment
    const { shard, log } = this.#options
    const frameprev = this.#ahead.frameprev ?? ''
    const bytes = draft.encode({
      format: 'torpor.frame.v1',
      shard,
      epoch,
      frame,
      timeMs: nowMs,
      frameprev,
      commandfloor,
    })
    this.#ahead = { epoch, frame, frameprev: sha256Hex(bytes), timeMs: nowMs }
    const sent = { draft, position: this.#ahead, isAcked: false }
    this.#inFlight.push(sent)
    const generation = this.#generation
    log.append(bytes, frame - 1).then(
      (result) => this.#ended(generation, sent, result),
      (cause: unknown) => this.#ended(generation, sent, { kind: 'ambiguous', cause }),
    )
  }

  /** Takes out all that are in flight, in order. */
  drop(): readonly FrameDraft[] {
    this.#generation += 1
    const drafts = this.#inFlight.map(({ draft }) => draft)
    this.#inFlight = []
    this.#ahead = this.#committed
    this.#idle?.()
    return drafts
  }

  /** Resolves when none is in flight. */
  idle(): Promise<void> {
    if (this.#inFlight.length === 0) return Promise.resolve()
    return new Promise((resolve) => {
      this.#idle = resolve
    })
  }

  #ended(generation: number, sent: InFlight, result: AppendResult): void {
    if (generation !== this.#generation) return
    if (result.kind !== 'committed') return this.#options.broken()
    sent.isAcked = true
    for (let first = this.#inFlight[0]; first?.isAcked === true; first = this.#inFlight[0]) {
      this.#inFlight.shift()
      this.#committed = first.position
      this.#options.committed(first.draft)
    }
    if (this.#inFlight.length === 0) this.#idle?.()
    this.#options.moved()
  }
}
