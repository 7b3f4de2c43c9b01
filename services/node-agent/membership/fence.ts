import type { Agent } from '../context.ts'
import { openGate } from '../execution/start-actor.ts'

/**
 * The guard holds the node still, or lets it go on. While it is held no request reaches an actor and nothing is admitted;
 * actors that are still this node's serve on afterwards.
 */
export function applyFence(agent: Agent, fenced: boolean): void {
  if (agent.fenced === fenced) return
  agent.fenced = fenced
  agent.ports.log('warn', fenced ? 'the lease is lost: all actors are frozen' : 'the lease is back')
  for (const slot of agent.slots.values()) {
    if (slot.phase !== 'running') continue
    if (fenced) void agent.ports.gate.close(slot.actor.actorUid, { drain: 'force', drainMs: 0 })
    else openGate(agent, slot)
  }
  agent.capacityChanged()
}
