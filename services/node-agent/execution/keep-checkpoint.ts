import { fault } from '@torpor/contracts'
import type { Agent } from '../context.ts'
import { reportOutcome } from '../context.ts'
import type { Slot } from '../domain/slot.ts'
import { keepImage, snapshotRow } from './checkpoint-files.ts'

/**
 * Marks the image of a checkpoint that ended well as whole, frees the booking, and reports Checkpointed with `phasesMs` and
 * the time of keeping it. What is left of the sandbox goes afterwards; its bytes are hashed behind that.
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
  await reportOutcome(agent, slot, { type: 'Checkpointed', data })
  agent.seals.begin(copy)
}
