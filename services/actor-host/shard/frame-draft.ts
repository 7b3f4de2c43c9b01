import type { FrameHeader } from '@torpor/contracts'
import { encodeFrame } from '@torpor/contracts'
import type { HostLimits } from '../limits.ts'
import type { Decided, StagedEvent } from './deciding.ts'
import { FRAME_HEADER_BYTES_MAX } from './deciding.ts'
import type { Moment } from './event-line.ts'
import type { Waiting } from './waiting.ts'

/** A frame while it is filled, then while it is in flight. */
export type FrameDraft = {
  readonly moment: Moment
  readonly events: readonly StagedEvent[]
  /** Whose answers leave when it is committed. */
  readonly waiting: Waiting[]
  /** Commands that were remembered because of it. */
  readonly commandIds: readonly string[]
  /** Whether these events still fit; an empty frame takes whatever a decision may hold. */
  fits(events: readonly StagedEvent[]): boolean
  add(commandId: string, decided: Decided): void
  encode(header: FrameHeader): Uint8Array
}

export function createFrameDraft(moment: Moment, limits: HostLimits): FrameDraft {
  const events: StagedEvent[] = []
  const commandIds: string[] = []
  let bytes = FRAME_HEADER_BYTES_MAX
  return {
    moment,
    events,
    waiting: [],
    commandIds,
    fits(more) {
      if (events.length === 0) return true
      const count = events.length + more.length
      return count <= limits.frameEventsMax && bytes + bytesOf(more) <= limits.frameBytesMax
    },
    add(commandId, decided) {
      commandIds.push(commandId)
      for (const event of decided.events) events.push(event)
      bytes += bytesOf(decided.events)
    },
    encode: (header) =>
      encodeFrame(
        header,
        events.map((event) => event.line),
      ),
  }
}

function bytesOf(events: readonly StagedEvent[]): number {
  let bytes = 0
  for (const event of events) bytes += event.bytes + 1
  return bytes
}
