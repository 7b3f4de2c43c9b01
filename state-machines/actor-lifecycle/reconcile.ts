import type { Actor, Inventory, InventorySandbox, ReportData, ReportName, Snapshot } from '@torpor/contracts'
import { isCompleted } from './snapshots.ts'

/** What an inventory proves, as the command that a report of the node would have been. */
export type Proof = {
  readonly [Name in ReportName]: { readonly type: `Report${Name}`; readonly data: ReportData<Name> }
}[ReportName]

/**
 * Compares an actor with what a node has, and gives the reports that were missed. Sound only when the actor did not change
 * while the node was asked: then question and answer are about the same state.
 */
export const reconcile = (actor: Actor, inventory: Inventory): readonly Proof[] => [
  ...executionProofs(actor, inventory),
  ...storageProofs(actor, inventory),
]

function executionProofs(actor: Actor, inventory: Inventory): readonly Proof[] {
  const { worker } = actor
  if (worker === undefined || worker.node !== inventory.node) return []
  const { epoch, sequence } = worker
  const sandbox = inventory.sandboxes.find((found) => isAssigned(actor, found))
  if (actor.state === 'ACTOR_STATE_RESUMING' && sandbox?.phase === 'running') {
    return [{ type: 'ReportRestored', data: { epoch, sequence, phasesMs: {} } }]
  }
  if (actor.state !== 'ACTOR_STATE_RUNNING' || sandbox !== undefined) return []
  const reason = { code: 'ACTOR_EXITED', message: `${inventory.node} has no sandbox of it any more` }
  return [{ type: 'ReportExited', data: { epoch, sequence, ...reason } }]
}

const isAssigned = (actor: Actor, sandbox: InventorySandbox): boolean =>
  sandbox.actorUid === actor.uid &&
  sandbox.epoch === actor.worker?.epoch &&
  sandbox.sequence === actor.worker.sequence

function storageProofs(actor: Actor, inventory: Inventory): readonly Proof[] {
  return actor.snapshots
    .filter((row) => row.locality === inventory.node && !holds(actor, inventory, row.generation))
    .map((row) => missing(row, inventory.node))
}

function missing(row: Snapshot, node: string): Proof {
  const { generation } = row
  if (isCompleted(row)) return { type: 'ReportSnapshotDropped', data: { generation } }
  const reason = { code: 'SNAPSHOT_UNKNOWN', message: `${node} has no copy of generation ${generation}` }
  return { type: 'ReportSnapshotLost', data: { generation, ...reason } }
}

const holds = (actor: Actor, inventory: Inventory, generation: number): boolean =>
  inventory.snapshots.some((found) => found.actorUid === actor.uid && found.generation === generation)

/** Sandboxes of this actor that the log does not want on the node: a Terminate with their own assignment ends them. */
export const unwantedSandboxes = (actor: Actor, inventory: Inventory): readonly InventorySandbox[] =>
  inventory.sandboxes.filter(
    (found) =>
      found.actorUid === actor.uid && !(actor.worker?.node === inventory.node && isAssigned(actor, found)),
  )
