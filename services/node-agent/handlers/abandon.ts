import type { NodeCommandData, Reply } from '@torpor/contracts'
import type { Agent } from '../context.ts'
import { giveBack } from '../execution/admission.ts'
import { TAKEN } from './replies.ts'

/** Gives an unused admission back; another one of the same actor, or one that runs, stays. */
export function handleAbandon(agent: Agent, data: NodeCommandData<'Abandon'>): Reply<null> {
  const slot = agent.slots.get(data.actorUid)
  if (slot?.phase === 'prepared' && slot.prepareId === data.prepareId) giveBack(agent, slot)
  return TAKEN
}
