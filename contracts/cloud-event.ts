import { hash } from 'node:crypto'
import type { EntityRef } from './names.ts'
import { entityKey } from './names.ts'
import type { DomainEvent } from './messages/events.ts'
import { cloudEventType, eventNameOf } from './messages/events.ts'
import { fault } from './errors.ts'

/** Who asked, and how that is known. The owner sets both, never the client. */
export type Principal = {
  readonly principal: string
  readonly proof: 'signed-header' | 'subject' | 'system' | 'anonymous'
}

/** An event as it stands in a frame: one compact JSON line, a CloudEvent 1.0 in structured mode. */
export type CloudEvent = {
  readonly specversion: '1.0'
  readonly id: string
  readonly source: string
  readonly type: string
  /** `actor/demo/my-counter-1`, or `shard/3` for events of the shard itself. */
  readonly subject: string
  readonly time: string
  readonly actoruid?: string
  /** +1 with each event of the entity. */
  readonly version: number
  readonly epoch: number
  /** Id of the command (or report, or timer) that made this happen. */
  readonly causationid: string
  readonly correlationid: string
  /** Digest of that command, so that an id that comes again with another body is found out; on its first event only. */
  readonly commanddigest?: string
  /** SHA-256, hex, of the line of the entity's event before this; 64 zeros for its first. */
  readonly actorprev: string
  readonly traceparent?: string
  readonly principal: string
  readonly principalproof: string
  readonly data: unknown
}

export const NO_PREVIOUS = '0'.repeat(64)

export const sha256Hex = (bytes: Uint8Array | string): string => hash('sha256', bytes, 'hex')

/** The domain event in a CloudEvent; undefined for a type that this version does not know. */
export function domainEventOf(event: CloudEvent): DomainEvent | undefined {
  const type = eventNameOf(event.type)
  return type === undefined ? undefined : ({ type, data: event.data } as DomainEvent)
}

/** Subject attribute of an entity's events. */
export const eventSubject = (ref: EntityRef): string => entityKey(ref)

export function parseCloudEvent(line: string): CloudEvent {
  try {
    return JSON.parse(line) as CloudEvent
  } catch (cause) {
    throw fault('INTERNAL', 'event line', { detail: 'is not JSON', cause })
  }
}

export { cloudEventType }
