export { startProjector } from './projector.ts'
export type { ProjectorOptions } from './projector.ts'
