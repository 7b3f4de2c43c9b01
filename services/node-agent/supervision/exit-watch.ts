import type { SandboxExit } from '@torpor/contracts'
import type { Agent } from '../context.ts'
import { reportOutcome } from '../context.ts'
import type { Slot } from '../domain/slot.ts'
import { clear } from '../execution/admission.ts'
import { finishedCheckpoint } from '../execution/checkpoint-files.ts'
import { keepCheckpoint } from '../execution/keep-checkpoint.ts'
import { lastLine } from '../execution/start-actor.ts'

/**
 * Notices the end of a process that ended by itself. While it serves, this is what ends the slot; during a start or a
 * checkpoint the operation that runs sees `slot.exit` and ends it.
 */
export function watchExit(agent: Agent, slot: Slot): void {
  const watch = new AbortController()
  slot.watch = watch
  const onExit = (exit: SandboxExit): void => {
    if (watch.signal.aborted || agent.stopped) return
    slot.exit = exit
    slot.exited.resolve(exit)
    if (slot.phase === 'running') endServing(agent, slot, exit)
  }
  agent.ports.runtime.exit(slot.actor.actorUid, watch.signal).then(onExit, () => undefined)
}

/** The actor's booking is free from here on; its remains go behind what its queue still holds. */
export function endServing(agent: Agent, slot: Slot, exit: SandboxExit): void {
  const { actorUid } = slot.actor
  slot.phase = 'ending'
  agent.ports.gate.remove(actorUid)
  if (agent.slots.get(actorUid) === slot) agent.slots.delete(actorUid)
  agent.capacityChanged()
  void agent.queues.run(actorUid, async () => {
    await reportExited(agent, slot, exit)
    await agent.records.remove(actorUid)
    await clear(agent, slot)
  })
}

/** Tells that the actor is gone, unless a checkpoint of it that an earlier agent began had ended well. */
async function reportExited(agent: Agent, slot: Slot, exit: SandboxExit): Promise<void> {
  const { actorUid } = slot.actor
  if (await finishedCheckpoint(agent, slot)) return keepCheckpoint(agent, slot, {})
  const { epoch, sequence } = slot.assignment ?? { epoch: 0, sequence: 0 }
  const message = `${exit.message}${await lastLine(agent, actorUid)}`
  const exitCode = exit.exitCode === undefined ? {} : { exitCode: exit.exitCode }
  const data = { epoch, sequence, code: 'PROCESS_EXITED', message, ...exitCode }
  await reportOutcome(agent, slot, { type: 'Exited', data })
}
