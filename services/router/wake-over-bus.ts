import type { Actor, Bus, Clock, CommandEnvelope, EntityRef, Reply } from '@torpor/contracts'
import {
  ALL,
  ANSWER_WHEN_HEADER,
  displayName,
  isUndecided,
  LIMITS,
  refusalOf,
  refuse,
  requestAgain,
} from '@torpor/contracts'
import { ownerDoor } from '@torpor/sdk'
import type { Placed, Wake, WatchCapacity } from './wake.ts'

/** The wake port over the fast door of the bus: `ResumeActor` to the owner of the actor's shard. */
export function wakeOverBus(bus: Bus, clock: Clock): Wake {
  const ask = ownerDoor(bus, clock)
  return async (ref, commandId, answerWhen) => {
    const envelope: CommandEnvelope = {
      specversion: '1.0',
      id: commandId,
      type: 'ResumeActor',
      source: 'router',
      data: { trigger: 'request' },
    }
    const bytes = new TextEncoder().encode(JSON.stringify(envelope))
    try {
      const headers = answerWhen === 'placed' ? { [ANSWER_WHEN_HEADER]: answerWhen } : {}
      const send = (timeoutMs: number) => ask(ref, 'ResumeActor', bytes, { timeoutMs, headers })
      const answer = await requestAgain(clock, send, {
        timeoutMs: LIMITS.rpcTimeoutMs,
        againMs: LIMITS.rpcAskAgainMs,
        isFinal: (given) => isFinal(parse(given)),
      })
      return readReply(ref, parse(answer))
    } catch (thrown) {
      return { ok: false, error: refusalOf(thrown) }
    }
  }
}

/** Nodes say what they have once a second and after each change: whoever waits for room asks again then. */
export function capacityOverBus(bus: Bus): WatchCapacity {
  return (onChange) => {
    const subscription = bus.subscribe(ALL.capacity, onChange)
    return () => subscription.unsubscribe()
  }
}

const isFinal = (reply: Reply<unknown>): boolean => reply.ok || !isUndecided(reply.error.code)

const parse = (answer: Uint8Array): Reply<{ actor?: Actor }> =>
  JSON.parse(new TextDecoder().decode(answer)) as Reply<{ actor?: Actor }>

function readReply(ref: EntityRef, reply: Reply<{ actor?: Actor }>): Reply<Placed> {
  if (!reply.ok) return reply
  const { actor } = reply.result
  const isStarting = actor?.state === 'ACTOR_STATE_RESUMING'
  if ((actor?.state !== 'ACTOR_STATE_RUNNING' && !isStarting) || actor.worker === undefined) {
    return { ok: false, error: refuse('ACTOR_STATE_CONFLICT', displayName(ref), actor?.state) }
  }
  const { actorUid, epoch, sequence, gateAddress } = actor.worker
  const placed = { assignment: { actorUid, epoch, sequence }, gateAddress }
  return { ok: true, result: isStarting ? { ...placed, isStarting } : placed }
}
