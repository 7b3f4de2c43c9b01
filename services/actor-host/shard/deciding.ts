import type {
  Decider,
  Decision,
  DomainEvent,
  EntityKind,
  EntityRef,
  HostCommand,
  Outcome,
  Refusal,
} from '@torpor/contracts'
import { entityKey, isUuidV7, refusalOf, refuse } from '@torpor/contracts'
import type { HostLimits } from '../limits.ts'
import type { Beginning, Entity } from './entity.ts'
import { beginningOf, uidOf } from './entity.ts'
import type { EventLine, Moment } from './event-line.ts'
import { buildEventLine } from './event-line.ts'
import type { IdempotencyWindow } from './idempotency-window.ts'
import type { ShardState } from './shard-state.ts'

/** What deciding needs of its shard. */
export type Desk = {
  readonly deciders: ReadonlyMap<EntityKind, Decider<unknown>>
  readonly state: ShardState
  readonly window: IdempotencyWindow
  readonly newId: () => string
  /** `source` of every event. */
  readonly source: string
  readonly limits: HostLimits
  /** Durable commands up to this sequence are decided. */
  durableFloor(): number
}

/** An event that goes into the next frame. */
export type StagedEvent = EventLine & {
  readonly ref: EntityRef
  readonly event: DomainEvent
  readonly before: unknown
  readonly after: unknown
  /** The entity after it; undefined where the event changes none (`CommandRefused`). */
  readonly entity: Entity | undefined
}

/** What a command comes to. Nothing is changed by deciding: whoever takes the decision stages its events. */
export type Decided = {
  readonly outcome: Outcome
  readonly events: readonly StagedEvent[]
  /** Without events: the frame that the answer depends on. */
  readonly frame: number
}

/** Room that a frame keeps for its header. */
export const FRAME_HEADER_BYTES_MAX = 1_024

/**
 * Decides one command on what is ahead.
 *
 * 1. An id that was decided is answered with that outcome; the same id with another digest is refused.
 * 2. A refusal writes nothing, but for a durable command: its sender waits for no answer, so its "no" becomes the event
 *    `CommandRefused`. That event has the target as its subject and changes nothing of it: it repeats the version and the
 *    `actorprev` of the target's last event, has no `actoruid`, and no later event names it. What holds it is the frame.
 */
export function decideCommand(command: HostCommand, desk: Desk, moment: Moment): Decided {
  const key = entityKey(command.target)
  const entity = desk.state.find(key)
  const known = knownOutcome(command, desk, entity)
  if (known !== undefined) return known
  const beginning = beginningOf(entity, moment.nowMs)
  const decision = checked(command, desk, moment) ?? decideSafely(command, desk, beginning, moment)
  if (decision.kind === 'refused') return refused(command, desk, key, beginning, decision.refusal, moment)
  if (decision.events.length === 0) {
    return { outcome: accepted(beginning.version, decision.result), events: [], frame: beginning.frame }
  }
  try {
    const events = stageEvents(command, desk, key, beginning, decision.events, moment)
    const tooLarge = findTooLarge(command, events, desk.limits)
    if (tooLarge !== undefined) return refused(command, desk, key, beginning, tooLarge, moment)
    const version = beginning.version + events.length
    return { outcome: accepted(version, decision.result), events, frame: moment.frame }
  } catch (cause) {
    return refused(command, desk, key, beginning, refusalOf(cause), moment)
  }
}

const accepted = (version: number, result: unknown): Outcome => ({
  ok: true,
  version,
  result,
  duplicate: false,
})

function knownOutcome(command: HostCommand, desk: Desk, entity: Entity | undefined): Decided | undefined {
  const remembered = desk.window.find(command.id)
  if (remembered !== undefined) {
    const { digest, outcome, frame } = remembered
    if (digest === command.digest) return { outcome: { ...outcome, duplicate: true }, events: [], frame }
    const refusal = refuse('COMMAND_ID_REUSED', command.id)
    return { outcome: { ok: false, refusal, duplicate: false }, events: [], frame }
  }
  const { durableSequence } = command
  if (durableSequence === undefined || durableSequence > desk.durableFloor()) return undefined
  const outcome = { ...accepted(entity?.version ?? 0, undefined), duplicate: true }
  return { outcome, events: [], frame: entity?.frame ?? 0 }
}

/** Reports and timers come from parts that keep their own order; a durable command is known by its sequence. */
function checked(command: HostCommand, desk: Desk, { nowMs }: Moment): Decision | undefined {
  if (command.refused !== undefined) return { kind: 'refused', refusal: command.refused }
  if (!desk.deciders.has(command.target.kind)) return no('COMMAND_UNKNOWN', command.type)
  if (command.principal.proof === 'system' || command.durableSequence !== undefined) return undefined
  if (!isUuidV7(command.id)) return no('COMMAND_MALFORMED', command.id, 'its id is no UUIDv7')
  if (desk.window.isTooOld(command.id, nowMs)) return no('COMMAND_EXPIRED', command.id)
  if (desk.window.isFromTheFuture(command.id, nowMs)) {
    return no('COMMAND_MALFORMED', command.id, 'the time in its id is ahead: set the clock of the sender')
  }
  return undefined
}

const no = (...refusal: Parameters<typeof refuse>): Decision => ({
  kind: 'refused',
  refusal: refuse(...refusal),
})

function decideSafely(command: HostCommand, desk: Desk, beginning: Beginning, moment: Moment): Decision {
  try {
    const decider = deciderOf(desk, command.target)
    return decider.decide(command, beginning.state, {
      nowMs: moment.nowMs,
      epoch: moment.epoch,
      version: beginning.version,
      newUid: desk.newId(),
      target: command.target,
    })
  } catch (cause) {
    return { kind: 'refused', refusal: refusalOf(cause) }
  }
}

function deciderOf(desk: Pick<Desk, 'deciders'>, ref: EntityRef): Decider<unknown> {
  const decider = desk.deciders.get(ref.kind)
  if (decider === undefined) throw new Error(`no decider for ${ref.kind}`)
  return decider
}

function stageEvents(
  command: HostCommand,
  desk: Desk,
  key: string,
  beginning: Beginning,
  events: readonly DomainEvent[],
  moment: Moment,
): readonly StagedEvent[] {
  const decider = deciderOf(desk, command.target)
  const ref = command.target
  const staged: StagedEvent[] = []
  let { state, version, lineHash } = beginning
  for (const event of events) {
    const before = state
    version += 1
    const position = { version, epoch: moment.epoch, timeMs: moment.nowMs }
    const after = decider.evolve(foldedOn(before, version), event, ref, position)
    const line = buildEventLine(
      {
        id: desk.newId(),
        source: desk.source,
        subject: key,
        uid: ref.kind === 'actor' ? (uidOf(after) ?? uidOf(before)) : undefined,
        version,
        previousHash: lineHash,
        event,
        command,
        digest: staged.length === 0 ? command.digest : undefined,
      },
      moment,
    )
    lineHash = line.hash
    state = after
    const entity = { key, ref, state, version, lineHash, frame: moment.frame }
    staged.push({ ...line, ref, event, before, after, entity })
  }
  return staged
}

/** The first event of an incarnation is folded on nothing, whether or not its deleted namesake is still remembered. */
export const foldedOn = (state: unknown, version: number): unknown => (version === 1 ? undefined : state)

function findTooLarge(
  command: HostCommand,
  events: readonly StagedEvent[],
  { eventBytesMax, frameBytesMax, frameEventsMax }: HostLimits,
): Refusal | undefined {
  if (events.length > frameEventsMax) return refuse('EVENT_TOO_LARGE', command.id, `${events.length} events`)
  let total = FRAME_HEADER_BYTES_MAX
  for (const { bytes, event } of events) {
    total += bytes + 1
    if (bytes > eventBytesMax || total > frameBytesMax) {
      return refuse('EVENT_TOO_LARGE', command.id, `${event.type} with ${bytes} bytes`)
    }
  }
  return undefined
}

function refused(
  command: HostCommand,
  desk: Desk,
  key: string,
  beginning: Beginning,
  refusal: Refusal,
  moment: Moment,
): Decided {
  const outcome: Outcome = { ok: false, refusal, duplicate: false }
  // "Ask again now" is no decision: the same command comes back with the facts that were missing.
  const isFinal = refusal.retry !== 'now'
  if (command.durableSequence === undefined || !isFinal)
    return { outcome, events: [], frame: beginning.frame }
  const { code, id, message } = refusal
  const event: DomainEvent = {
    type: 'CommandRefused',
    data: { command: command.type, code, id, message },
  }
  const line = buildEventLine(
    {
      id: desk.newId(),
      source: desk.source,
      subject: key,
      uid: undefined,
      version: beginning.version,
      previousHash: beginning.lineHash,
      event,
      command,
      digest: command.digest,
    },
    moment,
  )
  const { state } = beginning
  const staged = { ...line, ref: command.target, event, before: state, after: state, entity: undefined }
  return { outcome, events: [staged], frame: moment.frame }
}
