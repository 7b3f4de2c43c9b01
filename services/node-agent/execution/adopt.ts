import { readdir, rm } from 'node:fs/promises'
import { basename } from 'node:path'
import type { SandboxRuntime } from '@torpor/contracts'
import { bookingOf } from '@torpor/state-machines'
import type { Agent } from '../context.ts'
import { newSlot } from '../domain/slot.ts'
import type { Slot } from '../domain/slot.ts'
import { endServing, watchExit } from '../supervision/exit-watch.ts'
import type { SlotRecord } from '../state/slot-records.ts'
import { checkpointFolder } from './checkpoint-files.ts'
import { openForTraffic, openGate } from './start-actor.ts'

type Sandbox = Awaited<ReturnType<SandboxRuntime['list']>>[number]

/**
 * Takes over what an earlier agent left: sandboxes that serve go on serving; a checkpoint that had ended is kept; what was
 * only half started ends and waits for its Go to come again. Everything else that is found is a leftover and goes.
 */
export async function adoptAll(agent: Agent): Promise<void> {
  const records = await agent.records.all()
  const sandboxes = new Map((await agent.ports.runtime.list()).map((box) => [box.sandboxId, box]))
  await removeStaging(agent, records)
  const known = new Set(records.map(({ actor }) => actor.actorUid))
  const strays = [...sandboxes.keys()].filter((sandboxId) => !known.has(sandboxId))
  for (const sandboxId of strays) endLater(agent, sandboxId)
  await Promise.all(records.map((record) => adopt(agent, record, sandboxes.get(record.actor.actorUid))))
}

async function adopt(agent: Agent, record: SlotRecord, sandbox: Sandbox | undefined): Promise<void> {
  const { actorUid } = record.actor
  const served = record.phase === 'running' || record.phase === 'checkpointing'
  if (!served) return endLater(agent, actorUid)
  const slot = slotOf(record)
  agent.slots.set(actorUid, slot)
  await agent.assignments.raise(record.assignment)
  if (sandbox?.alive !== true) {
    return endServing(agent, slot, { reason: 'killed', message: 'it was not there when the agent started' })
  }
  slot.ipAddress = sandbox.ipAddress
  serveOn(agent, slot, record.phase === 'checkpointing')
}

/** Not waited for: on a node that its guard holds still nothing ends before it has joined again. */
function endLater(agent: Agent, actorUid: string): void {
  void agent.queues.run(actorUid, async () => {
    await agent.ports.runtime.terminate(actorUid)
    await agent.records.remove(actorUid)
  })
}

/** A checkpoint that an earlier agent began may still run: the gate stays closed until it is asked for again. */
function serveOn(agent: Agent, slot: Slot, wasCheckpointing: boolean): void {
  if (wasCheckpointing) {
    slot.phase = 'running'
    openGate(agent, slot)
    void agent.ports.gate.close(slot.actor.actorUid, { drain: 'force', drainMs: 0 })
  } else {
    openForTraffic(agent, slot)
  }
  watchExit(agent, slot)
}

function slotOf(record: SlotRecord): Slot {
  const slot = newSlot(record.actor, record.request, bookingOf(record.request.spec), '')
  slot.assignment = record.assignment
  slot.phase = record.phase
  slot.ipAddress = record.ipAddress
  slot.phasesMs = record.phasesMs
  if (record.generation !== undefined) slot.generation = record.generation
  return slot
}

/** Half fetched and half written generations go, but for checkpoints that their records still name. */
async function removeStaging(agent: Agent, records: readonly SlotRecord[]): Promise<void> {
  const named = new Set(
    records.flatMap(({ actor, generation }) =>
      generation === undefined ? [] : [basename(checkpointFolder(agent, actor.actorUid, generation))],
    ),
  )
  const names = await readdir(agent.folders.staging('')).catch(() => [])
  const leftovers = names.filter((name) => !named.has(name))
  await Promise.all(
    leftovers.map((name) => rm(agent.folders.staging(name), { recursive: true, force: true })),
  )
}
