import type { Actor, Clock } from '@torpor/contracts'
import { sleep } from '@torpor/contracts'
import type { TorporClient } from '@torpor/sdk'
import { DEMO_ATESPACE } from './demo-documents.ts'
import { eventLine } from './event-lines.ts'
import type { Teller } from './tell.ts'

const SHOWN_MS_MAX = 5_000
const LOOK_AGAIN_MS = 10

/** Prints the events of the demo's atespace as they come from the bus. */
export function showEvents(client: TorporClient, tell: Teller, clock: Clock) {
  const ending = new AbortController()
  const lastVersion = new Map<string, number>()
  const follow = async () => {
    for await (const event of client.events({
      atespace: DEMO_ATESPACE,
      from: 'now',
      signal: ending.signal,
    })) {
      tell.event(eventLine(event))
      lastVersion.set(event.subject, event.version)
    }
  }
  void follow().catch(
    (cause: unknown) => ending.signal.aborted || tell.line(`events ended: ${String(cause)}`),
  )
  return {
    /** Resolves once the event that the actor's version names is printed, or after a bounded wait: the stream is no truth. */
    async shown(actor: Actor): Promise<void> {
      const subject = `actor/${actor.atespace}/${actor.name}`
      for (let waitedMs = 0; waitedMs < SHOWN_MS_MAX; waitedMs += LOOK_AGAIN_MS) {
        if ((lastVersion.get(subject) ?? 0) >= actor.version) return
        await sleep(clock, LOOK_AGAIN_MS)
      }
    },
    close: () => ending.abort(),
  }
}
