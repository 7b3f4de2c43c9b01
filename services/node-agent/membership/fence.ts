import type { Agent } from '../context.ts'

/**
 * The guard holds the node still, or lets it go on. While it is held no request reaches an actor and nothing is admitted;
 * actors that are still this node's serve on afterwards.
 */
export function applyFence(agent: Agent, fenced: boolean): void {
  if (agent.fenced === fenced) return
  agent.fenced = fenced
  agent.ports.log('warn', fenced ? 'the lease is lost: all actors are frozen' : 'the lease is back')
  if (fenced) agent.ports.gate.freeze()
  else agent.ports.gate.thaw()
  agent.capacityChanged()
}
