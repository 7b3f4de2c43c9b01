import type { Actor, Bus, Clock, CommandEnvelope, ErrorCode, EntityRef, Reply } from '@torpor/contracts'
import { ALL, displayName, LIMITS, refusalOf, refuse, requestAgain } from '@torpor/contracts'
import { ownerDoor } from '@torpor/sdk'
import type { Placed, Wake, WatchCapacity } from './wake.ts'

/** The wake port over the fast door of the bus: `ResumeActor` to the owner of the actor's shard. */
export function wakeOverBus(bus: Bus, clock: Clock): Wake {
  const ask = ownerDoor(bus, clock)
  return async (ref, commandId) => {
    const envelope: CommandEnvelope = {
      specversion: '1.0',
      id: commandId,
      type: 'ResumeActor',
      source: 'router',
      data: { trigger: 'request' },
    }
    const bytes = new TextEncoder().encode(JSON.stringify(envelope))
    try {
      const send = (timeoutMs: number) => ask(ref, 'ResumeActor', bytes, { timeoutMs })
      const answer = await requestAgain(clock, send, {
        timeoutMs: LIMITS.rpcTimeoutMs,
        againMs: LIMITS.rpcAskAgainMs,
        isFinal: (given) => isDecided(parse(given)),
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

/** Codes by which an owner says that it decided nothing: another one may. */
const UNDECIDED: ReadonlySet<ErrorCode> = new Set(['SHARD_MOVED', 'SHARD_BUSY', 'LOG_UNAVAILABLE'])
const isDecided = (reply: Reply<unknown>): boolean => reply.ok || !UNDECIDED.has(reply.error.code)

const parse = (answer: Uint8Array): Reply<{ actor?: Actor }> =>
  JSON.parse(new TextDecoder().decode(answer)) as Reply<{ actor?: Actor }>

function readReply(ref: EntityRef, reply: Reply<{ actor?: Actor }>): Reply<Placed> {
  if (!reply.ok) return reply
  const { actor } = reply.result
  if (actor?.state !== 'ACTOR_STATE_RUNNING' || actor.worker === undefined) {
    return { ok: false, error: refuse('ACTOR_STATE_CONFLICT', displayName(ref), actor?.state) }
  }
  const { actorUid, epoch, sequence, gateAddress } = actor.worker
  return { ok: true, result: { assignment: { actorUid, epoch, sequence }, gateAddress } }
}
