import type { DomainEvent, EntityRef, ShardLog } from '@torpor/contracts'
import { NO_PREVIOUS, cloudEventType, encodeFrame, entityKey, sha256Hex } from '@torpor/contracts'

/** An event and the entity that it is of. */
export type Written = readonly [EntityRef, DomainEvent]

/** Writes frames of one shard as its owner would, for tests of readers. */
export class FrameWriter {
  readonly #log: ShardLog
  readonly #shard: number
  readonly #versions = new Map<string, number>()
  #frame = 0
  #frameprev = NO_PREVIOUS
  epoch = 1

  constructor(log: ShardLog, shard: number) {
    this.#log = log
    this.#shard = shard
  }

  /** The number of the last frame: its sequence in the log. */
  get frame(): number {
    return this.#frame
  }

  /** Appends one frame of these events. */
  async write(events: readonly Written[], epoch = this.epoch): Promise<void> {
    const header = {
      format: 'torpor.frame.v1' as const,
      shard: this.#shard,
      epoch,
      frame: this.#frame + 1,
      timeMs: 1_790_000_000_000 + this.#frame,
      frameprev: this.#frameprev,
      commandfloor: 0,
    }
    const bytes = encodeFrame(
      header,
      events.map(([ref, event]) => this.#line(ref, event, epoch)),
    )
    const result = await this.#log.append(bytes, this.#frame)
    if (result.kind !== 'committed') throw new Error(`frame ${this.#frame + 1}: ${result.kind}`)
    this.#frame += 1
    this.#frameprev = sha256Hex(bytes)
  }

  #line(ref: EntityRef, event: DomainEvent, epoch: number): string {
    const key = entityKey(ref)
    const version = (this.#versions.get(key) ?? 0) + 1
    this.#versions.set(key, version)
    return JSON.stringify({
      specversion: '1.0',
      id: `${key}-${version}`,
      source: 'test',
      type: cloudEventType(event.type),
      subject: key,
      time: new Date(1_790_000_000_000).toISOString(),
      version,
      epoch,
      causationid: 'c',
      correlationid: 'c',
      actorprev: NO_PREVIOUS,
      principal: 'test',
      principalproof: 'system',
      data: event.data,
    })
  }
}
