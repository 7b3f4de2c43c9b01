import { fault } from '@torpor/contracts'
import type { Agent } from '../context.ts'
import { reportOutcome } from '../context.ts'
import type { Slot } from '../domain/slot.ts'
import { sealCheckpoint, snapshotRow } from './checkpoint-files.ts'

/**
 * Seals the image of a checkpoint that ended well, frees the booking, and reports Checkpointed with `phasesMs` and the time
 * of sealing. What is left of the sandbox goes afterwards.
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
  const sealed = agent.copies.find(slot.actor.actorUid, generation)
  const copy = sealed ?? (await sealCheckpoint(agent, slot, generation))
  const seal = agent.ports.clock.monotonicMs() - beganMs
  slot.phase = 'ending'
  agent.ports.gate.remove(slot.actor.actorUid)
  if (agent.slots.get(slot.actor.actorUid) === slot) agent.slots.delete(slot.actor.actorUid)
  agent.capacityChanged()
  const { epoch, sequence } = assignment
  const data = { epoch, sequence, snapshot: snapshotRow(agent.name, copy), phasesMs: { ...phasesMs, seal } }
  await reportOutcome(agent, slot, { type: 'Checkpointed', data })
}
