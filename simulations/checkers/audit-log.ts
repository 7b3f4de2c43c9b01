import type { ChainPosition, CloudEvent, FrameHeader, Gone } from '@torpor/contracts'
import {
  CHAIN_START,
  NO_PREVIOUS,
  domainEventOf,
  followChain,
  parseCloudEvent,
  parseEntityKey,
  sha256Hex,
} from '@torpor/contracts'
import type { Counter } from '../../services/actor-host/testing/counter.ts'
import { counter } from '../../services/actor-host/testing/counter.ts'

export type Audit = {
  readonly states: ReadonlyMap<string, Counter | Gone | undefined>
  /** What each entity was after each event, in order: what is decided within a frame sees it too. */
  readonly history: ReadonlyMap<string, readonly Moment[]>
  /** By epoch, who wrote its frames. */
  readonly writers: ReadonlyMap<number, ReadonlySet<string>>
  /** Events of entities that count, in order. */
  readonly events: readonly CloudEvent[]
  readonly headers: readonly FrameHeader[]
  /** Events of frames that are void. */
  readonly voidEvents: readonly CloudEvent[]
  /** The stored frame that holds each command. */
  readonly frameNumbers: ReadonlyMap<string, number>
  /** How often each command became events: how many frames hold some of it. */
  readonly framesOfCommand: ReadonlyMap<string, number>
}

/** An entity after one of its events, in the stored frame of this number. */
export type Moment = {
  readonly frame: number
  readonly version: number
  readonly state: Counter | Gone | undefined
}

/**
 * Reads the log of a shard by the contracts alone, without anything of the host: what it finds is what the host must say.
 * Throws where a chain is broken.
 */
export function auditLog(frames: readonly Uint8Array[]): Audit {
  let position: ChainPosition = CHAIN_START
  const states = new Map<string, Counter | Gone | undefined>()
  const chains = new Map<string, { version: number; hash: string }>()
  const framesOfCommand = new Map<string, number>()
  const frameNumbers = new Map<string, number>()
  const history = new Map<string, Moment[]>()
  const writers = new Map<number, Set<string>>()
  const headers: FrameHeader[] = []
  const events: CloudEvent[] = []
  const voidEvents: CloudEvent[] = []
  for (const bytes of frames) {
    const next = followChain(position, bytes)
    position = next.position
    const lines = next.frame.lines.map((line) => ({ line, event: parseCloudEvent(line) }))
    if (next.isVoid) {
      voidEvents.push(...lines.map(({ event }) => event))
      continue
    }
    const { header } = next.frame
    headers.push(header)
    writers.set(header.epoch, writers.get(header.epoch) ?? new Set())
    for (const { event } of lines) writers.get(header.epoch)?.add(event.source)
    const entityLines = lines.filter(({ event }) => !event.subject.startsWith('shard/'))
    for (const id of new Set(entityLines.map(({ event }) => event.causationid))) {
      framesOfCommand.set(id, (framesOfCommand.get(id) ?? 0) + 1)
      frameNumbers.set(id, position.frame)
    }
    for (const { line, event } of entityLines) {
      events.push(event)
      foldLine(line, event, header, states, chains)
      const moments = history.get(event.subject) ?? []
      const moment = {
        frame: position.frame,
        version: chains.get(event.subject)?.version ?? 0,
        state: states.get(event.subject),
      }
      moments.push(moment)
      history.set(event.subject, moments)
    }
  }
  return { states, history, frameNumbers, writers, events, headers, voidEvents, framesOfCommand }
}

function foldLine(
  line: string,
  event: CloudEvent,
  header: FrameHeader,
  states: Map<string, Counter | Gone | undefined>,
  chains: Map<string, { version: number; hash: string }>,
): void {
  const domainEvent = domainEventOf(event)
  if (domainEvent === undefined) throw new Error(`unknown event ${event.type}`)
  if (domainEvent.type === 'CommandRefused') return
  const before = event.version === 1 ? undefined : chains.get(event.subject)
  const follows =
    event.version === (before?.version ?? 0) + 1 && event.actorprev === (before?.hash ?? NO_PREVIOUS)
  if (!follows) throw new Error(`${event.subject} version ${event.version} breaks its chain`)
  chains.set(event.subject, { version: event.version, hash: sha256Hex(line) })
  const position = { version: event.version, epoch: event.epoch, timeMs: header.timeMs }
  const on = event.version === 1 ? undefined : states.get(event.subject)
  states.set(event.subject, counter.evolve(on, domainEvent, parseEntityKey(event.subject), position))
}
