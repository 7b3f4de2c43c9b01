import { LIMITS } from '@torpor/contracts'
import type { Agent } from '../context.ts'
import type { Slot } from '../domain/slot.ts'

/**
 * Reports actors that no request has reached for their idle timeout, once, and again each time as long has passed without
 * anything having come of it. Returns the function that ends the watch.
 */
export function watchIdle(agent: Agent): () => void {
  let cancel = (): void => undefined
  const look = (): void => {
    for (const slot of agent.slots.values()) lookAt(agent, slot)
    cancel = agent.ports.clock.after(LIMITS.idleWatchMs, look)
  }
  look()
  return () => cancel()
}

function lookAt(agent: Agent, slot: Slot): void {
  const { idleTimeout } = slot.request.spec
  if (idleTimeout === 0 || slot.phase !== 'running' || slot.assignment === undefined) return
  const { actorUid, epoch, sequence } = slot.assignment
  const { gate } = agent.ports
  const idleMs = gate.openCount(actorUid) > 0 ? 0 : Math.floor(gate.idleMs(actorUid))
  const reportedMs = slot.idleReportedMs ?? 0
  const since = idleMs < reportedMs ? 0 : reportedMs
  slot.idleReportedMs = since
  if (idleMs < since + idleTimeout) return
  slot.idleReportedMs = idleMs
  agent.outbox.send(slot.actor, { type: 'IdleTimedOut', data: { epoch, sequence, idleMs } })
}
