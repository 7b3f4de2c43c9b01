import { rm } from 'node:fs/promises'
import type { Agent } from '../context.ts'
import type { Slot } from '../domain/slot.ts'
import { clear } from './admission.ts'
import { checkpointFolder } from './checkpoint-files.ts'

/** Stops whatever waits for the slot, cuts its requests, and frees its booking; its sandbox goes with `removeSlot`. */
export function stopSlot(agent: Agent, slot: Slot): void {
  slot.keep?.()
  slot.cancel.abort(new Error('the slot was ended'))
  agent.ports.gate.remove(slot.actor.actorUid)
  slot.phase = 'ending'
  if (agent.slots.get(slot.actor.actorUid) === slot) agent.slots.delete(slot.actor.actorUid)
  agent.capacityChanged()
}

/** Takes the sandbox of a stopped slot away, with what a checkpoint of it left. Runs in the actor's queue. */
export async function removeSlot(agent: Agent, slot: Slot): Promise<void> {
  slot.watch?.abort()
  if (slot.generation !== undefined) {
    const folder = checkpointFolder(agent, slot.actor.actorUid, slot.generation)
    await rm(folder, { recursive: true, force: true })
  }
  await clear(agent, slot)
  await agent.records.remove(slot.actor.actorUid)
}
