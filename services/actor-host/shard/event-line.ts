import type { CloudEvent, DomainEvent, EventName, HostCommand } from '@torpor/contracts'
import { cloudEventType, sha256Hex } from '@torpor/contracts'

/** What all events of a frame have in common. */
export type Moment = {
  readonly nowMs: number
  /** `nowMs` as an RFC 3339 time. */
  readonly time: string
  readonly epoch: number
  readonly frame: number
}

/** An event's line, built once: so it stands in the frame, so it is hashed, so it is published. */
export type EventLine = { readonly cloudEvent: CloudEvent; readonly line: string; readonly hash: string }

export type EventLineInput = {
  readonly id: string
  readonly source: string
  readonly subject: string
  readonly uid: string | undefined
  readonly version: number
  readonly previousHash: string
  readonly event: DomainEvent
  readonly command: Pick<HostCommand, 'id' | 'correlationId' | 'principal' | 'traceparent'>
  /** Of the command, on its first event only. */
  readonly digest: string | undefined
}

const types = new Map<EventName, string>()

function typeOf(name: EventName): string {
  const known = types.get(name)
  if (known !== undefined) return known
  const type = cloudEventType(name)
  types.set(name, type)
  return type
}

export function buildEventLine(input: EventLineInput, moment: Moment): EventLine {
  const { command, uid, digest } = input
  const cloudEvent: CloudEvent = {
    specversion: '1.0',
    id: input.id,
    source: input.source,
    type: typeOf(input.event.type),
    subject: input.subject,
    time: moment.time,
    ...(uid === undefined ? undefined : { actoruid: uid }),
    version: input.version,
    epoch: moment.epoch,
    causationid: command.id,
    correlationid: command.correlationId,
    ...(digest === undefined ? undefined : { commanddigest: digest }),
    actorprev: input.previousHash,
    ...(command.traceparent === undefined ? undefined : { traceparent: command.traceparent }),
    principal: command.principal.principal,
    principalproof: command.principal.proof,
    data: input.event.data,
  }
  const line = JSON.stringify(cloudEvent)
  return { cloudEvent, line, hash: sha256Hex(line) }
}
