import type { Actor } from '@torpor/contracts'
import { displayName, actorRef } from '@torpor/contracts'
import type { TorporClient } from '@torpor/sdk'
import type { Teller } from './tell.ts'

/** How long the end of the demo waits for one actor. */
const SUSPEND_MS_MAX = 30_000

/** Suspends what runs, each named, so that the next run goes on with the same actors. */
export async function suspendAll(client: TorporClient, tell: Teller): Promise<void> {
  const running: Actor[] = []
  for await (const actor of client.listAll('ListActors')) running.push(actor)
  for (const { atespace, name } of running) {
    const actor = await client.actor(atespace, name).get()
    if (actor.state === 'ACTOR_STATE_SUSPENDED' || actor.state === 'ACTOR_STATE_CRASHED') continue
    await client.actor(atespace, name).suspend({ mode: 'async', timeoutMs: SUSPEND_MS_MAX })
    tell.line(`${displayName(actorRef(atespace, name))} suspended`)
  }
}
