import type {
  Actor,
  ActorTemplate,
  Atespace,
  CommandName,
  ListQueryName,
  Node,
  QueryName,
  WorkerPool,
} from '@torpor/contracts'

type ResultsByCommand = {
  CreateActor: { readonly actor: Actor }
  ResumeActor: { readonly actor: Actor }
  SuspendActor: { readonly actor: Actor }
  RevertActor: { readonly actor: Actor }
  /** Answered when nothing of it is left. */
  DeleteActor: object
  CreateActorTemplate: { readonly template: ActorTemplate }
  DeleteActorTemplate: object
  CreateWorkerPool: { readonly workerPool: WorkerPool }
  UpdateWorkerPool: { readonly workerPool: WorkerPool }
  DeleteWorkerPool: object
  CreateAtespace: { readonly atespace: Atespace }
  DeleteAtespace: object
  DrainNode: { readonly node: Node }
}

type ResultsByQuery = {
  GetActor: { readonly actor: Actor }
  GetActorTemplate: { readonly template: ActorTemplate }
  GetWorkerPool: { readonly workerPool: WorkerPool }
  GetAtespace: { readonly atespace: Atespace }
  GetNode: { readonly node: Node }
  GetActorLogs: { readonly lines: readonly string[] }
}

type ItemsByList = {
  ListActors: Actor
  ListActorTemplates: ActorTemplate
  ListWorkerPools: WorkerPool
  ListAtespaces: Atespace
  ListNodes: Node
}

/** What a command answers with. */
export type CommandResult<Name extends CommandName> = ResultsByCommand[Name]
/** What a question about one entity answers with. */
export type QueryResult<Name extends QueryName> = ResultsByQuery[Name]
/** What the pages of a list hold. */
export type ListItem<Name extends ListQueryName> = ItemsByList[Name]

/** What any control plane says of the system. */
export type SystemInfo = {
  readonly shards: number
  readonly version: string
  /** Name of the one that answered. */
  readonly controlPlane: string
}

/** How far the read model is: frames in its rows, and frames in the log. */
export type ReadModelInfo = {
  readonly shards: readonly {
    readonly shard: number
    readonly position: number
    readonly lastSequence: number
  }[]
}
