import { refuse, refusalOf } from '@torpor/contracts'
import type { Assignment, NodeCommandData, Reply } from '@torpor/contracts'
import type { Agent } from '../context.ts'
import { nameOf, reportOutcome } from '../context.ts'
import { judgeAssignment } from '../domain/assignments.ts'
import type { Slot } from '../domain/slot.ts'
import { admissionProblem, admit, giveBack } from '../execution/admission.ts'
import { removeSlot, stopSlot } from '../execution/end-slot.ts'
import { reportRestored, startActor } from '../execution/start-actor.ts'
import { isSameStart } from './prepare.ts'
import { TAKEN, refused } from './replies.ts'

type Go = NodeCommandData<'Go'>

/** The decision is in the log: runs the actor. The same Go again tells again what came of it. */
export function handleGo(agent: Agent, data: Go): Reply<null> {
  const receivedMs = agent.ports.clock.monotonicMs()
  const assignment: Assignment = { actorUid: data.actorUid, epoch: data.epoch, sequence: data.sequence }
  const known = agent.assignments.known(data.actorUid)
  const judgement = judgeAssignment(known, assignment)
  if (judgement === 'old') return refused(refuse('ASSIGNMENT_OLD', nameOf(data)))
  if (judgement === 'same' && known?.outcome !== undefined) {
    agent.outbox.send(data, known.outcome)
    return TAKEN
  }
  const there = agent.slots.get(data.actorUid)
  if (judgement === 'same' && there?.assignment !== undefined) {
    if (there.phasesMs !== undefined) reportRestored(agent, there)
    return TAKEN
  }
  if (agent.fenced) return refused(refuse('NODE_UNAVAILABLE', agent.name, 'its lease is lost'))
  const raised = agent.assignments.raise(assignment)
  const slot = slotFor(agent, there, data, assignment)
  if (slot === undefined) return TAKEN
  void agent.queues.run(data.actorUid, () => runStart(agent, slot, raised, receivedMs))
  return TAKEN
}

/** The prepared slot if it fits, else a new one; undefined when there is no room, which is reported. */
function slotFor(agent: Agent, there: Slot | undefined, data: Go, assignment: Assignment): Slot | undefined {
  if (there?.assignment !== undefined) replaceStale(agent, there)
  const prepared = there?.phase === 'prepared' ? there : undefined
  const fits = prepared !== undefined && isSameStart(prepared, data)
  if (prepared !== undefined && !fits) giveBack(agent, prepared)
  const problem = fits ? undefined : admissionProblem(agent, data, data)
  if (problem !== undefined) {
    const { code, message } = problem
    const failure = { epoch: data.epoch, sequence: data.sequence, code, message, ran: false }
    agent.ports.gate.remove(data.actorUid)
    agent.outbox.send(data, { type: 'RestoreFailed', data: failure })
    return undefined
  }
  const slot = fits ? prepared : admit(agent, data, data, data.prepareId)
  slot.keep?.()
  slot.assignment = assignment
  slot.phase = 'starting'
  agent.capacityChanged()
  return slot
}

/** The log has moved on from what still runs here. */
function replaceStale(agent: Agent, stale: Slot): void {
  stopSlot(agent, stale)
  void agent.queues.run(stale.actor.actorUid, () => removeSlot(agent, stale))
}

async function runStart(agent: Agent, slot: Slot, raised: Promise<void>, receivedMs: number): Promise<void> {
  try {
    await raised
    if (!slot.cancel.signal.aborted) await startActor(agent, slot, receivedMs)
  } catch (error) {
    const { epoch, sequence } = slot.assignment ?? { epoch: 0, sequence: 0 }
    const { code, message } = refusalOf(error)
    stopSlot(agent, slot)
    await removeSlot(agent, slot)
    const data = { epoch, sequence, code, message, ran: true }
    await reportOutcome(agent, slot, { type: 'RestoreFailed', data })
  }
}
