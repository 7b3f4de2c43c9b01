import type { Actor, Clock } from '@torpor/contracts'
import { TorporError, displayName, actorRef, refusalLine, refusalOf } from '@torpor/contracts'
import type { TorporClient } from '@torpor/sdk'
import { awaitCondition } from './await-condition.ts'
import { DEMO_ACTOR, DEMO_ATESPACE } from './demo-documents.ts'
import type { Teller } from './tell.ts'

/** How long the end of the demo waits for one actor. */
const SUSPEND_MS_MAX = 30_000
/** How long it waits for the list of all: the read model may be starting anew. */
const LIST_MS_MAX = 45_000
/** How long it asks for one actor. */
const GET_MS_MAX = 45_000
const RESTS: ReadonlySet<string> = new Set(['ACTOR_STATE_SUSPENDED', 'ACTOR_STATE_CRASHED'])

const UNKNOWN: ReadonlySet<string> = new Set(['ACTOR_UNKNOWN', 'ACTOR_GONE', 'ATESPACE_UNKNOWN'])

type Name = Pick<Actor, 'atespace' | 'name'>

/**
 * Suspends what runs, each named, so that the next run goes on with the same actors.
 * @returns whether all of it sleeps; what could not be suspended was told
 */
export async function suspendAll(client: TorporClient, tell: Teller, clock: Clock): Promise<boolean> {
  let allSleep = true
  for (const { atespace, name } of await actorNames(client, tell, clock)) {
    const id = displayName(actorRef(atespace, name))
    try {
      if (await suspendOne(client, clock, { atespace, name })) tell.line(`${id} suspended`)
    } catch (cause) {
      allSleep = false
      tell.line(`${id} could not be suspended, and ends with its newest snapshot: ${textOf(cause)}`)
    }
  }
  return allSleep
}

/** The demo's own is known; the others are in the read model, which is a projection and may be away. */
async function actorNames(client: TorporClient, tell: Teller, clock: Clock): Promise<readonly Name[]> {
  const own: Name = { atespace: DEMO_ATESPACE, name: DEMO_ACTOR }
  try {
    const listed = await awaitCondition(clock, 'the list of actors', LIST_MS_MAX, () => listNames(client))
    return [own, ...listed.filter(({ atespace, name }) => atespace !== own.atespace || name !== own.name)]
  } catch (cause) {
    tell.line(`no list of the actors, only the demo's own is suspended: ${textOf(cause)}`)
    return [own]
  }
}

async function listNames(client: TorporClient): Promise<readonly Name[]> {
  const names: Name[] = []
  for await (const actor of client.listAll('ListActors')) names.push(actor)
  return names
}

/** @returns whether it had to be suspended */
async function suspendOne(client: TorporClient, clock: Clock, { atespace, name }: Name): Promise<boolean> {
  const actor = client.actor(atespace, name)
  const found = await awaitCondition(clock, name, GET_MS_MAX, () =>
    actor.get().catch((cause: unknown) => {
      if (cause instanceof TorporError && UNKNOWN.has(cause.code)) return 'none' as const
      throw cause
    }),
  )
  if (found === 'none' || RESTS.has(found.state)) return false
  await actor.suspend({ mode: 'async', timeoutMs: SUSPEND_MS_MAX })
  return true
}

const textOf = (cause: unknown): string => refusalLine(refusalOf(cause))
