export { openFileStore } from './file-store.ts'
