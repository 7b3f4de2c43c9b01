import { refuse } from '@torpor/contracts'
import type { Admission, NodeCommandData, Reply } from '@torpor/contracts'
import type { Agent } from '../context.ts'
import { nameOf } from '../context.ts'
import type { Slot } from '../domain/slot.ts'
import { admissionProblem, admit, giveBack } from '../execution/admission.ts'
import { accepted, refused } from './replies.ts'

/** Admits the actor for `ttlMs` and begins what its start will need, or refuses with the reason. Runs nothing of it. */
export function handlePrepare(agent: Agent, data: NodeCommandData<'Prepare'>): Reply<Admission> {
  const there = agent.slots.get(data.actorUid)
  if (there !== undefined && there.phase !== 'prepared')
    return refused(refuse('ACTOR_STATE_CONFLICT', nameOf(data), `is ${there.phase} on this node`))
  if (there !== undefined && isSameStart(there, data)) {
    there.prepareId = data.prepareId
    return admitted(agent, there, data.ttlMs)
  }
  if (there !== undefined) giveBack(agent, there)
  const problem = admissionProblem(agent, data, data)
  if (problem !== undefined) return refused(problem)
  return admitted(agent, admit(agent, data, data, data.prepareId), data.ttlMs)
}

/** True when the place that is being made serves this start too. A generation's folder in the store names no other. */
export const isSameStart = (
  slot: Slot,
  data: Pick<NodeCommandData<'Prepare'>, 'worker' | 'templateUid' | 'snapshot'>,
): boolean =>
  slot.request.worker === data.worker &&
  slot.request.templateUid === data.templateUid &&
  slot.request.snapshot?.uri === data.snapshot?.uri

function admitted(agent: Agent, slot: Slot, ttlMs: number): Reply<Admission> {
  slot.keep?.()
  slot.keep = agent.ports.clock.after(ttlMs, () => {
    if (slot.phase === 'prepared' && agent.slots.get(slot.actor.actorUid) === slot) giveBack(agent, slot)
  })
  const { prepareId, request } = slot
  const { address } = agent.ports.gate
  return accepted({ prepareId, node: agent.name, worker: request.worker, gateAddress: address })
}
