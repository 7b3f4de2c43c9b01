export { startControlPlane } from './control-plane.ts'
export type { ControlPlaneOptions } from './control-plane.ts'
