import type { Actor, Bus, Clock, CommandEnvelope, EntityRef, Reply } from '@torpor/contracts'
import { ALL, displayName, LIMITS, refusalOf, refuse } from '@torpor/contracts'
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
      const answer = await ask(ref, 'ResumeActor', bytes, {
        timeoutMs: LIMITS.rpcTimeoutMs,
      })
      return readReply(ref, JSON.parse(new TextDecoder().decode(answer)) as Reply<{ actor?: Actor }>)
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

function readReply(ref: EntityRef, reply: Reply<{ actor?: Actor }>): Reply<Placed> {
  if (!reply.ok) return reply
  const { actor } = reply.result
  if (actor?.state !== 'ACTOR_STATE_RUNNING' || actor.worker === undefined) {
    return { ok: false, error: refuse('ACTOR_STATE_CONFLICT', displayName(ref), actor?.state) }
  }
  const { actorUid, epoch, sequence, gateAddress } = actor.worker
  return { ok: true, result: { assignment: { actorUid, epoch, sequence }, gateAddress } }
}
