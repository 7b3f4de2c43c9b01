import type {
  Actor,
  ActorTemplate,
  CommandData,
  Decision,
  DecisionContext,
  HostCommand,
  Refusal,
  ReportData,
  ReportName,
} from '@torpor/contracts'

/** A node's word that it admits the actor: what Prepare answered, with the pool of the worker. */
export type AdmissionFacts = {
  readonly prepareId: string
  readonly node: string
  readonly worker: string
  readonly workerPool: string
  readonly gateAddress: string
}

/** What the control plane found out for a CreateActor. `golden`: a hidden actor that its template's snapshot is taken of. */
export type CreateActorFacts = { readonly template?: ActorTemplate | undefined; readonly golden?: boolean }
/** Either a node that admits the actor, or why none does. */
export type ResumeActorFacts = { readonly admission?: AdmissionFacts; readonly refusal?: Refusal }
/** Why a suspend that no caller asked for happens: `pressure`, `node-drain`. */
export type SuspendActorFacts = { readonly trigger?: string }
/** Who reports, and of which incarnation of the name. */
export type ReportFacts = { readonly node?: string; readonly actorUid?: string }

/** The decider's commands that no client may send, besides `Report<Name>` for each report of a node. */
export type InternalActorCommands = {
  readonly FireTimer: { readonly id: string }
  readonly DeclareNodeLost: { readonly node: string }
  readonly AbandonResume: {
    readonly epoch: number
    readonly sequence: number
    readonly code: string
    readonly message: string
  }
}

/** Data of a command for an actor that exists, by type. Whoever submits has parsed it. */
export type ActorCommandData = {
  readonly [Name in 'ResumeActor' | 'SuspendActor' | 'RevertActor' | 'DeleteActor']: CommandData<Name>
} & InternalActorCommands & { readonly [Name in ReportName as `Report${Name}`]: ReportData<Name> }

/** One decision about an actor that exists. The answer of every accepted one is `{ uid }`. */
export type Rule<Type extends keyof ActorCommandData> = (
  actor: Actor,
  data: ActorCommandData[Type],
  context: DecisionContext,
  command: HostCommand,
) => Decision

export const reportFacts = (command: HostCommand): ReportFacts => (command.facts ?? {}) as ReportFacts
