import { setup } from 'xstate'
import type { EventName, Snapshot } from '@torpor/contracts'

export type StorageEventName = Extract<EventName, `Snapshot${string}`>
export type StorageStateName = Snapshot['storageState'] | 'RELEASED' | 'COLLECTED'

/**
 * Where one own generation is stored. A failed upload stays PENDING and is tried again. Released, nothing refers to it any
 * more and its files wait to be collected.
 */
// oxfmt-ignore
export const storageMachine = setup({ types: { events: {} as { type: StorageEventName } } }).createMachine({
  id: 'snapshot-storage',
  initial: 'SNAPSHOT_STORAGE_STATE_PENDING',
  states: {
    SNAPSHOT_STORAGE_STATE_PENDING: { description: 'on the node only', on: {
      SnapshotUploadFailed: 'SNAPSHOT_STORAGE_STATE_PENDING', SnapshotCompleted: 'SNAPSHOT_STORAGE_STATE_COMPLETED',
      SnapshotReleased: 'RELEASED' } },
    SNAPSHOT_STORAGE_STATE_COMPLETED: { description: 'in the object store', on: {
      SnapshotDetached: 'SNAPSHOT_STORAGE_STATE_COMPLETED', SnapshotReleased: 'RELEASED' } },
    RELEASED: { description: 'nothing refers to it', on: { SnapshotCollected: 'COLLECTED' } },
    COLLECTED: { description: 'its files are removed', type: 'final' },
  },
})
