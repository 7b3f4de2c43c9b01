import { LIMITS, fault, sleep } from '@torpor/contracts'
import type { DomainReport } from '@torpor/contracts'
import type { Agent } from '../context.ts'
import type { Slot } from '../domain/slot.ts'
import { keepImage, snapshotRow } from './checkpoint-files.ts'

/**
 * Marks the image of a checkpoint that ended well as whole, frees the booking, and reports Checkpointed with `phasesMs` and
 * the time of keeping it. Resolves when the report was answered: what is left of the sandbox goes afterwards, and the bytes are
 * hashed behind that.
 */
export async function keepCheckpoint(
  agent: Agent,
  slot: Slot,
  phasesMs: Readonly<Record<string, number>>,
): Promise<void> {
  const { generation, assignment } = slot
  if (generation === undefined || assignment === undefined)
    throw fault('INTERNAL', slot.actor.actorUid, { detail: 'a checkpoint without generation' })
  const beganMs = agent.ports.clock.monotonicMs()
  const kept = agent.copies.find(slot.actor.actorUid, generation)
  const copy = kept ?? (await keepImage(agent, slot, generation))
  const keep = agent.ports.clock.monotonicMs() - beganMs
  slot.phase = 'ending'
  agent.ports.gate.remove(slot.actor.actorUid)
  if (agent.slots.get(slot.actor.actorUid) === slot) agent.slots.delete(slot.actor.actorUid)
  agent.capacityChanged()
  const { epoch, sequence } = assignment
  const data = { epoch, sequence, snapshot: snapshotRow(agent.name, copy), phasesMs: { ...phasesMs, keep } }
  const report: DomainReport = { type: 'Checkpointed', data }
  // side by side: while the slot's record is there, an agent that starts anew finds the copy and reports it again
  const onDisk = agent.assignments.end(assignment, report).catch((error: unknown) => {
    agent.ports.log('warn', `the end of ${slot.actor.name} is not on disk: ${String(error)}`)
  })
  const answered = agent.outbox.send(slot.actor, report)
  agent.seals.begin(copy)
  await onDisk
  await Promise.race([answered, sleep(agent.ports.clock, LIMITS.clearAfterReportMsMax)])
}
