export { choosePort, type ChosenPort } from './supervisor/choose-port.ts'
export { DataFolderBusy } from './supervisor/data-lock.ts'
export {
  startLocalStack,
  type LocalStack,
  type LocalStackOptions,
  type StackPort,
} from './supervisor/local-stack.ts'
export { natsPart, type NatsPartOptions } from './supervisor/nats-part.ts'
export { objectStorePart, type ObjectStorePartOptions } from './supervisor/object-store-part.ts'
export {
  PartNotReady,
  type PartDefinition,
  type PartEvent,
  type PartState,
  type ReadyWhen,
} from './supervisor/part.ts'
export type { PartSettings, ServicePart } from './supervisor/part-environment.ts'
export { postgresPart, type PostgresPart, type PostgresPartOptions } from './supervisor/postgres-part.ts'
export { enterProcessRoot } from './supervisor/process-root.ts'
export { removeData } from './supervisor/remove-data.ts'
export {
  openSupervisor,
  Supervisor,
  type PartStatus,
  type SupervisorOptions,
} from './supervisor/supervisor.ts'
export { REPOSITORY, findTool, requireTool, type ToolName } from './supervisor/tool-paths.ts'
