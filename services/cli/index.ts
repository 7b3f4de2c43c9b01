export { createProgram, runCli } from './cli.ts'
export { createContext } from './context.ts'
export type { Connection, World } from './world.ts'
