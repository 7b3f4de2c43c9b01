export { openSnapshotStore } from './open-snapshot-store.ts'
