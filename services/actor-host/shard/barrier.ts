import type { AppendResult, ChainPosition, Clock, Frame, FrameHeader, ShardLog } from '@torpor/contracts'
import {
  CHAIN_START,
  LIMITS,
  NO_PREVIOUS,
  domainEventOf,
  encodeFrame,
  fault,
  followChain,
  parseCloudEvent,
  sleep,
} from '@torpor/contracts'
import type { DomainEvent } from '@torpor/contracts'
import type { HostLimits } from '../limits.ts'
import { buildEventLine, momentOf } from './event-line.ts'
import { shardSubject } from './replay.ts'

/** What raising a barrier needs of its shard. */
export type BarrierDesk = {
  readonly shard: number
  readonly shards: number
  readonly owner: string
  readonly log: ShardLog
  readonly clock: Clock
  readonly newId: () => string
  readonly limits: HostLimits
  /** Ids of the `ShardOwned` events that this owner made: by them it knows its own, also after an answer was lost. */
  readonly ownBarriers: Set<string>
  /** Durable commands up to this sequence are decided, as far as this owner knows. */
  durableFloor(): number
  /** The lease is held just now. */
  isHeld(): boolean
  /** The shard was given up meanwhile. */
  isGivenUp(): boolean
  /** The log takes no barrier just now, but may later. */
  unavailable(cause: unknown): void
}

/** A barrier that is committed: nothing of a former epoch counts after it. */
export type Barrier = {
  readonly epoch: number
  /** After the barrier. */
  readonly position: ChainPosition
  readonly durableFloor: number
  /** The frames that count between the start and the barrier, then the barrier itself. */
  readonly frames: readonly Frame[]
}

/** At a take-over this many last frames tell epoch, chain and floor: more than fenced owners can leave void in a row. */
const TAIL_FRAMES = LIMITS.appendsInFlightMax * 4

type Tail = { position: ChainPosition; floor: number; readonly frames: Frame[] }

/**
 * Appends `ShardOwned` under the next epoch: at a take-over (`start` undefined) and at each recovery (`start` is what this owner
 * knows to be committed).
 *
 * 1. The epoch is the highest in the log plus one, never taken from the lease.
 * 2. The barrier expects the last sequence that the log's leader names, so that what lies before it is known for good and what
 *    does not can never count.
 * 3. At a recovery a foreign `ShardOwned` means that the shard has another owner: it is given up, fault `SHARD_MOVED`.
 * 4. It goes on until the barrier stands or the shard is given up; after each try that ended without a verdict it waits, longer
 *    each time up to a bound.
 */
export async function raiseBarrier(desk: BarrierDesk, start: ChainPosition | undefined): Promise<Barrier> {
  let tail: Tail | undefined
  let backoffMs = desk.limits.recoveryBackoffMsMin
  for (;;) {
    if (desk.isGivenUp()) throw moved(desk)
    try {
      const last = await desk.log.lastSequence()
      tail = await readTail(desk, tail ?? tailStart(start, last), last, start !== undefined)
      if (desk.isHeld() && !desk.isGivenUp()) {
        const barrier = await tryBarrier(desk, tail)
        if ('position' in barrier) return barrier
        if (barrier.kind !== 'conflict') desk.unavailable(barrier.cause)
      }
    } catch (cause) {
      if (!isOfTheLog(cause)) throw cause
      desk.unavailable(cause)
    }
    await sleep(desk.clock, backoffMs)
    backoffMs = Math.min(backoffMs * 2, desk.limits.recoveryBackoffMsMax)
  }
}

const moved = ({ shard }: BarrierDesk): Error => fault('SHARD_MOVED', `shard ${shard}`)

/** What the log itself throws means that it is away; our own faults with other codes are verdicts. */
const isOfTheLog = (cause: unknown): boolean => {
  const code = cause instanceof Error && 'code' in cause ? cause.code : undefined
  return code !== 'SHARD_MOVED' && code !== 'INTERNAL' && code !== 'CONFIG_INVALID'
}

function tailStart(start: ChainPosition | undefined, last: number): Tail {
  if (start !== undefined) return { position: start, floor: 0, frames: [] }
  const before = Math.max(0, last - TAIL_FRAMES)
  const position = before === 0 ? CHAIN_START : { ...CHAIN_START, frame: before, frameprev: undefined }
  return { position, floor: 0, frames: [] }
}

async function readTail(desk: BarrierDesk, tail: Tail, last: number, isOwner: boolean): Promise<Tail> {
  for await (const stored of desk.log.read(tail.position.frame + 1, last)) {
    const { frame, isVoid, position } = followChain(tail.position, stored.bytes)
    if (isOwner && !isVoid && position.epoch > tail.position.epoch && !isOwn(desk, frame)) throw moved(desk)
    tail.position = position
    if (isVoid) continue
    tail.floor = Math.max(tail.floor, frame.header.commandfloor)
    tail.frames.push(frame)
  }
  return tail
}

const isOwn = (desk: BarrierDesk, frame: Frame): boolean =>
  frame.lines.some((line) => {
    const event = parseCloudEvent(line)
    return domainEventOf(event)?.type === 'ShardOwned' && desk.ownBarriers.has(event.id)
  })

async function tryBarrier(
  desk: BarrierDesk,
  { position, floor, frames }: Tail,
): Promise<Barrier | Exclude<AppendResult, { kind: 'committed' }>> {
  const nowMs = Math.max(desk.clock.nowMs(), position.timeMs)
  if (position.timeMs > desk.clock.nowMs() + desk.limits.clockSkewMsMax) {
    throw fault('CONFIG_INVALID', `clock of ${desk.owner}`, {
      detail: `is behind the log of shard ${desk.shard} by ${position.timeMs - desk.clock.nowMs()} ms`,
    })
  }
  const durableFloor = Math.max(floor, desk.durableFloor())
  const header: FrameHeader = {
    format: 'torpor.frame.v1',
    shard: desk.shard,
    epoch: position.epoch + 1,
    frame: position.frame + 1,
    timeMs: nowMs,
    frameprev: position.frameprev ?? NO_PREVIOUS,
    commandfloor: durableFloor,
  }
  const bytes = encodeFrame(header, barrierLines(desk, header))
  const result = await desk.log.append(bytes, position.frame)
  if (result.kind !== 'committed') return result
  const barrier = followChain(position, bytes)
  return {
    epoch: header.epoch,
    position: barrier.position,
    durableFloor,
    frames: [...frames, barrier.frame],
  }
}

/**
 * Events of the shard itself. Their `version` is the epoch, which rises by one with each, and they have no chain but that of the
 * frames: a new owner writes its first event before it has read the log.
 */
function barrierLines(desk: BarrierDesk, header: FrameHeader): readonly string[] {
  const owned: DomainEvent = { type: 'ShardOwned', data: { owner: desk.owner } }
  const created: DomainEvent = { type: 'ShardCreated', data: { shards: desk.shards, formatVersion: 1 } }
  const moment = momentOf(header.timeMs, header.epoch, header.frame)
  const causeId = desk.newId()
  return (header.frame === 1 ? [created, owned] : [owned]).map((event) => {
    const id = desk.newId()
    if (event.type === 'ShardOwned') desk.ownBarriers.add(id)
    const { line } = buildEventLine(
      {
        id,
        source: `torpor/${desk.owner}`,
        subject: shardSubject(desk.shard),
        uid: undefined,
        version: header.epoch,
        previousHash: NO_PREVIOUS,
        event,
        command: {
          id: causeId,
          correlationId: causeId,
          principal: { principal: desk.owner, proof: 'system' },
        },
        digest: undefined,
      },
      moment,
    )
    return line
  })
}
