export type { PostgresOptions, PostgresReadModel } from './open-read-model.ts'
export { openReadModel } from './open-read-model.ts'
