import { compareAssignments, refuse } from '@torpor/contracts'
import type { Assignment, DomainReport, NodeCommandData, Reply } from '@torpor/contracts'
import type { Agent } from '../context.ts'
import { nameOf } from '../context.ts'
import { judgeAssignment } from '../domain/assignments.ts'
import type { Slot } from '../domain/slot.ts'
import { checkpointActor } from '../execution/checkpoint-actor.ts'
import { snapshotRow } from '../execution/checkpoint-files.ts'
import { TAKEN, refused } from './replies.ts'

type Checkpoint = NodeCommandData<'Checkpoint'>

/** Drains, checkpoints, ends the sandbox. The same command again tells again what came of it. */
export function handleCheckpoint(agent: Agent, data: Checkpoint): Reply<null> {
  const assignment: Assignment = { actorUid: data.actorUid, epoch: data.epoch, sequence: data.sequence }
  if (judgeAssignment(agent.assignments.known(data.actorUid), assignment) === 'old')
    return refused(refuse('ASSIGNMENT_OLD', nameOf(data)))
  const raised = agent.assignments.raise(assignment)
  const queued = agent.queues.offer(data.actorUid, async () => {
    await raised
    const slot = agent.slots.get(data.actorUid)
    if (slot !== undefined && serves(slot, assignment)) await checkpointActor(agent, slot, data)
    else agent.outbox.send(data, pastOutcome(agent, data))
  })
  return queued === undefined ? refused(refuse('SHARD_BUSY', nameOf(data))) : TAKEN
}

const serves = (slot: Slot, assignment: Assignment): boolean =>
  slot.phase === 'running' &&
  slot.assignment !== undefined &&
  compareAssignments(slot.assignment, assignment) === 0

/** What became of an assignment that does not run here any more. */
function pastOutcome(agent: Agent, data: Checkpoint): DomainReport {
  const { actorUid, generation, epoch, sequence } = data
  const outcome = agent.assignments.known(actorUid)?.outcome
  const copy = agent.copies.find(actorUid, generation)
  const isThis = outcome?.type === 'Checkpointed' && outcome.data.snapshot.generation === generation
  if (copy !== undefined && !isThis) {
    const snapshot = snapshotRow(agent.name, copy)
    return { type: 'Checkpointed', data: { epoch, sequence, snapshot, phasesMs: {} } }
  }
  if (outcome !== undefined) return outcome
  const message = 'no sandbox of this assignment is on this node'
  return { type: 'Exited', data: { epoch, sequence, code: 'PROCESS_EXITED', message } }
}
