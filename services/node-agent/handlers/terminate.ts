import { compareAssignments, refuse } from '@torpor/contracts'
import type { Assignment, DomainReport, NodeCommandData, Reply } from '@torpor/contracts'
import type { Agent } from '../context.ts'
import { nameOf } from '../context.ts'
import { judgeAssignment } from '../domain/assignments.ts'
import { removeSlot, stopSlot } from '../execution/end-slot.ts'
import { TAKEN, refused } from './replies.ts'

/** Ends the sandbox, whatever it is doing, and keeps nothing of it. Where there is none, it says so all the same. */
export function handleTerminate(agent: Agent, data: NodeCommandData<'Terminate'>): Reply<null> {
  const { actorUid, epoch, sequence } = data
  const assignment: Assignment = { actorUid, epoch, sequence }
  if (judgeAssignment(agent.assignments.known(actorUid), assignment) === 'old')
    return refused(refuse('ASSIGNMENT_OLD', nameOf(data)))
  const raised = agent.assignments.raise(assignment)
  const there = agent.slots.get(actorUid)
  const runs = there?.assignment !== undefined && compareAssignments(there.assignment, assignment) <= 0
  if (runs) stopSlot(agent, there)
  void agent.queues.run(actorUid, async () => {
    await raised
    if (runs) await removeSlot(agent, there)
    const report: DomainReport = { type: 'Terminated', data: { epoch, sequence } }
    await agent.assignments.end(assignment, report)
    agent.outbox.send(data, report)
  })
  return TAKEN
}
