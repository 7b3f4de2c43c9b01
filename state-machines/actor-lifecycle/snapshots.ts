import type { Actor, Snapshot } from '@torpor/contracts'

/** The snapshot that the next resume restores: the one with the highest generation; undefined when there is none. */
export const newestSnapshot = (actor: Pick<Actor, 'snapshots'>): Snapshot | undefined =>
  actor.snapshots.reduce<Snapshot | undefined>(
    (newest, row) => (newest === undefined || row.generation > newest.generation ? row : newest),
    undefined,
  )

export const isCompleted = (row: Snapshot): boolean => row.storageState === 'SNAPSHOT_STORAGE_STATE_COMPLETED'
export const isOwn = (row: Snapshot): boolean => row.owner === 'SNAPSHOT_OWNER_ACTOR'

export const snapshotOf = (actor: Pick<Actor, 'snapshots'>, generation: number): Snapshot | undefined =>
  actor.snapshots.find((row) => row.generation === generation)

/** What a revert goes back to: the generation of the newest COMPLETED own snapshot, or 0 for birth. */
export function revertGeneration(actor: Pick<Actor, 'snapshots'>): number {
  const row = newestSnapshot({ snapshots: actor.snapshots.filter(isCompleted) })
  return row === undefined || !isOwn(row) ? 0 : row.generation
}

/** Generations that a COMPLETED `generation` makes superfluous, lowest first. */
export const lowerGenerations = (actor: Pick<Actor, 'snapshots'>, generation: number): readonly number[] =>
  actor.snapshots
    .map((row) => row.generation)
    .filter((lower) => lower < generation)
    .sort((a, b) => a - b)

/** Node that holds the newest snapshot; empty when only the object store does. */
export const assignedNodeOf = (snapshots: readonly Snapshot[]): string =>
  newestSnapshot({ snapshots })?.locality ?? ''
