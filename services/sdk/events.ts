import type { CloudEvent, EventFeed } from '@torpor/contracts'
import {
  ALL,
  LIMITS,
  SUBJECTS,
  TorporError,
  checkRef,
  actorRef,
  cloudEventType,
  fault,
  parseCloudEvent,
} from '@torpor/contracts'

export type EventsOptions = {
  /** Of one atespace, or all when left out. */
  readonly atespace?: string | undefined
  /** Of one actor; needs `atespace`. */
  readonly actor?: string | undefined
  /** `start`: what the stream still holds, then on. */
  readonly from: 'start' | 'now'
  /** Ends at the event that was last when it began. */
  readonly untilCaughtUp?: boolean | undefined
  readonly signal: AbortSignal
}

/** Parsed events of the feed. It delivers at least once; an event that came before is left out. */
export async function* followEvents(
  feed: EventFeed | undefined,
  options: EventsOptions,
): AsyncIterable<CloudEvent> {
  if (feed === undefined) throw fault('CONFIG_INVALID', 'events', { detail: 'the client has no event feed' })
  const isNew = rememberVersions(LIMITS.feedActorsRememberedMax)
  const { from, untilCaughtUp = false, signal } = options
  for await (const { line } of feed.follow(filterOf(options), { from, untilCaughtUp, signal })) {
    const event = parseCloudEvent(line)
    if (isNew(event)) yield event
  }
}

function filterOf({ atespace, actor }: EventsOptions): string {
  if (atespace === undefined) return ALL.events
  const refusal = checkRef(actorRef(atespace, actor ?? 'any'))
  if (refusal !== undefined) throw new TorporError(refusal)
  return SUBJECTS.event({ atespace, name: actor ?? '*' })
}

/**
 * Versions rise by one per entity, so the last one seen tells a duplicate. A refused command repeats the version that it found:
 * its own id tells. Bounded: what was quiet longest is forgotten.
 */
function rememberVersions(entriesMax: number): (event: CloudEvent) => boolean {
  const lastSeen = new Map<string, number>()
  return ({ subject, type, id, actoruid = '', version }) => {
    const key = `${subject} ${type === COMMAND_REFUSED ? id : actoruid}`
    if ((lastSeen.get(key) ?? NOTHING_SEEN) >= version) return false
    lastSeen.delete(key)
    lastSeen.set(key, version)
    if (lastSeen.size > entriesMax) {
      const [oldest] = lastSeen.keys()
      if (oldest !== undefined) lastSeen.delete(oldest)
    }
    return true
  }
}

const COMMAND_REFUSED = cloudEventType('CommandRefused')
/** Below every version: a command may be refused for something that does not exist, which has version 0. */
const NOTHING_SEEN = -1
