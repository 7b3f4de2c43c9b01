import type { ActorTemplateSpec } from './actor-template.ts'
import type { Snapshot } from './snapshot.ts'

export const ACTOR_STATES = [
  'ACTOR_STATE_SUSPENDED',
  'ACTOR_STATE_RESUMING',
  'ACTOR_STATE_RUNNING',
  'ACTOR_STATE_SUSPENDING',
  'ACTOR_STATE_CRASHED',
  'ACTOR_STATE_REVERTING',
  'ACTOR_STATE_DELETING',
] as const
export type ActorStateName = (typeof ACTOR_STATES)[number]

/**
 * The fencing token of one execution: (actoruid, epoch of the shard, version of the ActorResumeStarted event).
 * Compared by epoch, then sequence: a node persists the highest it saw and refuses lower ones.
 */
export type Assignment = { readonly actorUid: string; readonly epoch: number; readonly sequence: number }

/** Negative when `a` is older than `b`, 0 when they are the same. */
export const compareAssignments = (a: Assignment, b: Assignment): number =>
  a.epoch - b.epoch || a.sequence - b.sequence

/** How an assignment travels in the header `torpor-assignment`: `<uid>.<epoch>.<sequence>`. */
export const formatAssignment = (a: Assignment): string => `${a.actorUid}.${a.epoch}.${a.sequence}`

/** The reverse of {@link formatAssignment}; undefined when it has another form. */
export function parseAssignment(text: string): Assignment | undefined {
  const match = /^([0-9a-f-]{36})\.(\d{1,15})\.(\d{1,15})$/.exec(text)
  if (match === null) return undefined
  return { actorUid: match[1] ?? '', epoch: Number(match[2]), sequence: Number(match[3]) }
}

/** Where an actor runs (or is being started): the worker it books, and the gate that answers for it. */
export type WorkerAssignment = Assignment & {
  readonly node: string
  readonly worker: string
  readonly workerPool: string
  /** `host:port` of the node's gate. */
  readonly gateAddress: string
}

export type SuspendMode = 'async' | 'sync'
/** What a suspend does with open requests: wait for them, refuse to suspend, or cut them. */
export type DrainMode = 'drain' | 'refuse' | 'force'

export type TimerKind = 'upload' | 'detach' | 'deadline'
/** A due time that is state: set and cleared by events, fired by the shard's owner. */
export type Timer = {
  readonly id: string
  readonly kind: TimerKind
  readonly dueAtMs: number
  readonly generation?: number
}

export type CrashReason = { readonly code: string; readonly message: string; readonly timeMs: number }

/** The state of one actor in the log. */
export type Actor = {
  readonly uid: string
  readonly atespace: string
  readonly name: string
  readonly state: ActorStateName
  /** Finer progress than the state, for people; never decides. */
  readonly phase: string
  /** +1 with each event of this actor. */
  readonly version: number
  readonly createTimeMs: number
  readonly updateTimeMs: number
  readonly template: { readonly atespace: string; readonly name: string; readonly uid: string }
  readonly spec: ActorTemplateSpec
  readonly snapshots: readonly Snapshot[]
  readonly lastAssignedGeneration: number
  /** Node that holds the newest snapshot; empty when only the object store does. */
  readonly assignedNode: string
  readonly worker?: WorkerAssignment
  /** Set while SUSPENDING. */
  readonly suspend?: {
    readonly mode: SuspendMode
    readonly drain: DrainMode
    readonly drainMs: number
    readonly generation: number
    /** Sync mode, after the checkpoint: the copy on the node that is being uploaded. */
    readonly checkpointed?: Snapshot
  }
  /** Set while RESUMING: which generation is restored; 0 starts from the image. */
  readonly resume?: { readonly generation: number; readonly trigger: string }
  /** Set while REVERTING: which generation becomes current (0: birth), and whether a wake follows. */
  readonly revert?: { readonly generation: number; readonly thenResume: boolean }
  /** Set by a revert that asked for a wake, until one begins: the control plane sends ResumeActor. */
  readonly wakeWanted?: boolean
  /** Reverts with a wake, counted within `restartWindowMs`: what bounds `crashPolicy: restart`. */
  readonly restarts?: { readonly count: number; readonly lastAtMs: number }
  readonly crash?: CrashReason
  /** Generations that nothing refers to any more and that still wait to be collected on node or store. */
  readonly collect: readonly { readonly generation: number; readonly node: string; readonly uri: string }[]
  readonly timers: readonly Timer[]
  /** A hidden actor whose suspended state becomes its template's golden snapshot. */
  readonly golden: boolean
}
