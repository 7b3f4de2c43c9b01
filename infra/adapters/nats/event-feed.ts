import type { EventFeed, FeedEvent } from '@torpor/contracts'
import { LIMITS, STREAMS } from '@torpor/contracts'
import type { DeliveredMessage } from './delivered-message.ts'
import { followStream } from './follow-stream.ts'
import { streamState } from './jetstream-api.ts'
import type { BusLink } from './link.ts'

type FeedOptions = Parameters<EventFeed['follow']>[1]

/**
 * The stream EVENTS for people. Its server may lose the youngest messages in a crash and give their sequences to others,
 * so after each interruption reading begins `feedRewindMax` messages earlier, and what was given out before is left out:
 * sequence and time together tell one message from all others.
 */
export function eventFeed(link: BusLink): EventFeed {
  return { follow: (filter, options) => follow(link, filter, options) }
}

async function* follow(link: BusLink, filter: string, options: FeedOptions): AsyncGenerator<FeedEvent> {
  const seen = new Map<number, string>()
  const ended = new AbortController()
  const signal = AbortSignal.any([options.signal, ended.signal])
  let from = options.from === 'start' ? 1 : undefined
  let waiting = Number.POSITIVE_INFINITY

  const start = async (last: DeliveredMessage | undefined) => {
    const next = (await streamState(link, STREAMS.events)).lastSequence + 1
    from = Math.min(from ?? next, next)
    const rewound = last === undefined ? from : Math.max(from, last.sequence - LIMITS.feedRewindMax)
    return { kind: 'sequence', sequence: Math.min(rewound, next) } as const
  }
  const opened = (count: number) => {
    if (options.untilCaughtUp !== true) return
    waiting = count
    if (count === 0) ended.abort()
  }

  for await (const delivered of followStream(
    link,
    { stream: STREAMS.events, filter, start, opened },
    signal,
  )) {
    const { sequence, timeNanos, message } = delivered
    waiting -= 1
    if (seen.get(sequence) !== timeNanos) {
      remember(seen, sequence, timeNanos)
      yield { sequence, subject: message.subject, line: message.string() }
    }
    if (waiting === 0) return
  }
}

function remember(seen: Map<number, string>, sequence: number, timeNanos: string): void {
  seen.delete(sequence)
  seen.set(sequence, timeNanos)
  const [oldest] = seen.keys()
  if (seen.size > LIMITS.feedRewindMax + 1 && oldest !== undefined) seen.delete(oldest)
}
