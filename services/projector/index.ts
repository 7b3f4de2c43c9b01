export { startProjector } from './projector.ts'
export type { Projector, ProjectorOptions } from './projector.ts'
