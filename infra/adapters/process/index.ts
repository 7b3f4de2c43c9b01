export { runPart } from './run-part.ts'
export type { Note, RunningPart } from './run-part.ts'
