import { LIMITS, SUBJECTS } from '@torpor/contracts'
import type { NodeCapacity } from '@torpor/contracts'
import type { Agent } from '../context.ts'
import { capacityOf } from '../domain/booking.ts'
import { bookedOf } from '../execution/admission.ts'

const nodeCapacity = (agent: Agent): NodeCapacity => ({
  node: agent.name,
  gateAddress: agent.ports.gate.address,
  timeMs: agent.ports.clock.nowMs(),
  draining: agent.fenced,
  sandboxRuntimes: [agent.ports.runtime.version],
  workers: agent.workers.all().map((worker) => capacityOf(worker, bookedOf(agent, worker.worker))),
})

export type CapacityNotices = {
  /** Says it soon; many changes at once are said once. */
  changed(): void
  stop(): void
}

/** Publishes what the node has and has booked: once a second and after each change. */
export function publishCapacity(agent: () => Agent): CapacityNotices {
  let cancel: () => void = () => undefined
  let soon = false
  let stopped = false
  const publish = (): void => {
    if (stopped) return
    soon = false
    cancel()
    const { ports, name } = agent()
    ports.bus.publish(SUBJECTS.capacity(name), Buffer.from(JSON.stringify(nodeCapacity(agent()))))
    cancel = ports.clock.after(LIMITS.capacityPublishMs, publish)
  }
  return {
    changed() {
      if (soon || stopped) return
      soon = true
      cancel()
      cancel = agent().ports.clock.after(LIMITS.capacityCoalesceMs, publish)
    },
    stop() {
      stopped = true
      cancel()
    },
  }
}
