import { mkdir, readdir, rm, stat } from 'node:fs/promises'
import { join } from 'node:path'
import { snapshotUri } from '@torpor/contracts'
import type { Snapshot } from '@torpor/contracts'
import type { Agent } from '../context.ts'
import type { Slot } from '../domain/slot.ts'
import { CHECKPOINT_COMPLETE_FILE } from '../snapshots/folders.ts'
import type { NodeCopy } from '../snapshots/node-copies.ts'
import { markWhole } from '../snapshots/unsealed.ts'

/** Where a checkpoint of the slot grows; the name is the same after a restart. */
export const checkpointFolder = (agent: Agent, actorUid: string, generation: number): string =>
  agent.folders.staging(`${actorUid}-${generation}-checkpoint`)

export async function emptyCheckpointFolder(
  agent: Agent,
  actorUid: string,
  generation: number,
): Promise<string> {
  const folder = checkpointFolder(agent, actorUid, generation)
  await mkdir(folder).catch(async () => {
    await rm(folder, { recursive: true, force: true })
    await mkdir(folder, { recursive: true })
  })
  return folder
}

/** Nothing comes of the checkpoint into this generation. */
export async function forgetImage(agent: Agent, slot: Slot): Promise<void> {
  if (slot.generation === undefined) return
  const folder = checkpointFolder(agent, slot.actor.actorUid, slot.generation)
  delete slot.generation
  await rm(folder, { recursive: true, force: true })
}

/**
 * True when the image of the checkpoint that an earlier agent began is whole. The process that wrote it may have left its
 * mark; else the runtime is asked to finish what it had begun, which it can when only the image was still to be described.
 */
export async function finishedCheckpoint(agent: Agent, slot: Slot): Promise<boolean> {
  const { actorUid } = slot.actor
  if (slot.generation === undefined) return false
  if (agent.copies.find(actorUid, slot.generation) !== undefined) return true
  const folder = checkpointFolder(agent, actorUid, slot.generation)
  if (await isThere(join(folder, CHECKPOINT_COMPLETE_FILE))) return true
  if (!(await isThere(folder))) return false
  const result = await agent.ports.runtime.checkpoint(actorUid, folder).catch(() => undefined)
  return result?.kind === 'saved'
}

/** True when a checkpoint that an earlier agent began has written something. */
export const hasBegunCheckpoint = async (agent: Agent, slot: Slot): Promise<boolean> =>
  slot.generation !== undefined &&
  (await readdir(checkpointFolder(agent, slot.actor.actorUid, slot.generation)).catch(() => [])).length > 0

const isThere = (path: string): Promise<boolean> =>
  stat(path).then(
    () => true,
    () => false,
  )

/** Mark, place: after this the generation counts. Its manifest follows. */
export async function keepImage(agent: Agent, slot: Slot, generation: number): Promise<NodeCopy> {
  const { actorUid } = slot.actor
  const folder = checkpointFolder(agent, actorUid, generation)
  const facts = {
    formatVersion: 1 as const,
    actorUid,
    generation,
    fidelity: 'SNAPSHOT_FIDELITY_MEMORY' as const,
    actorTemplateUid: slot.request.templateUid,
    sandboxRuntime: agent.ports.runtime.version,
    createTimeMs: agent.ports.clock.nowMs(),
  }
  const copy = await agent.copies.adopt(folder, await markWhole(folder, facts))
  agent.checked.remember(copy.folder, copy.identity)
  return copy
}

/** The row that a generation on this node has in its actor's status; the digest comes with its upload. */
export const snapshotRow = (node: string, { manifest, bytes }: NodeCopy): Snapshot => ({
  generation: manifest.generation,
  owner: 'SNAPSHOT_OWNER_ACTOR',
  fidelity: manifest.fidelity,
  actorTemplateUid: manifest.actorTemplateUid,
  locality: node,
  storageState: 'SNAPSHOT_STORAGE_STATE_PENDING',
  uri: snapshotUri(manifest.actorUid, manifest.generation),
  bytes,
  sandboxRuntime: manifest.sandboxRuntime,
  createTimeMs: manifest.createTimeMs,
  attempts: 0,
})
