import { z } from 'zod'
import { actorTemplateSpecSchema } from '../resources/actor-template.ts'
import { nodeSpecSchema } from '../resources/node.ts'
import { snapshotSchema } from '../resources/snapshot.ts'
import { workerPoolSpecSchema } from '../resources/worker-pool.ts'

const assignment = { epoch: z.int(), sequence: z.int() }
const phasesMs = z.record(z.string(), z.number())
const reason = { code: z.string(), message: z.string() }

/**
 * Every event by its name: past tense, a fact. A spec inside an event is the parsed one (numbers with their units fixed),
 * so that a later change of a default never changes what an old event means.
 */
export const EVENT_SCHEMAS = {
  // actor
  ActorCreated: z.strictObject({
    uid: z.string(),
    template: z.strictObject({ atespace: z.string(), name: z.string(), uid: z.string() }),
    spec: z.custom<z.infer<typeof actorTemplateSpecSchema>>(),
    /** Borrowed from the template's golden tag; absent for a hidden golden actor, which starts from its image. */
    snapshot: snapshotSchema.optional(),
    golden: z.boolean(),
  }),
  ActorResumeStarted: z.strictObject({
    ...assignment,
    node: z.string(),
    worker: z.string(),
    workerPool: z.string(),
    gateAddress: z.string(),
    /** 0: start from the image. */
    generation: z.int(),
    trigger: z.string(),
    deadlineAtMs: z.int(),
  }),
  ActorResumed: z.strictObject({ ...assignment, phasesMs }),
  ActorResumeAbandoned: z.strictObject({ ...assignment, ...reason }),
  ActorSuspendStarted: z.strictObject({
    generation: z.int(),
    mode: z.enum(['async', 'sync']),
    drain: z.enum(['drain', 'refuse', 'force']),
    drainMs: z.int(),
    trigger: z.string(),
    deadlineAtMs: z.int(),
  }),
  /** Sync mode: the image lies on the node, its upload begins. */
  ActorCheckpointed: z.strictObject({ snapshot: snapshotSchema, phasesMs }),
  ActorSuspended: z.strictObject({
    snapshot: snapshotSchema,
    phasesMs,
    uploadAtMs: z.int().optional(),
    detachAtMs: z.int(),
  }),
  ActorSuspendAbandoned: z.strictObject(reason),
  ActorExited: z.strictObject({ ...assignment, ...reason, exitCode: z.int().optional() }),
  ActorCrashed: z.strictObject(reason),
  ActorNodeLost: z.strictObject({ node: z.string() }),
  ActorSnapshotLost: z.strictObject({ generation: z.int(), ...reason }),
  ActorRevertStarted: z.strictObject({ generation: z.int(), thenResume: z.boolean(), deadlineAtMs: z.int() }),
  ActorReverted: z.strictObject({ generation: z.int() }),
  ActorDeleteStarted: z.strictObject({ deadlineAtMs: z.int() }),
  ActorDeleted: z.strictObject({ goneUntilMs: z.int() }),
  // a snapshot's storage
  /** A second copy lies in the object store: from here on the log says what every copy must match. */
  SnapshotCompleted: z.strictObject({ generation: z.int(), manifestDigest: z.string(), uri: z.string() }),
  SnapshotUploadFailed: z.strictObject({
    generation: z.int(),
    attempts: z.int(),
    nextAttemptAtMs: z.int(),
    lastError: z.string(),
  }),
  SnapshotReleased: z.strictObject({ generation: z.int() }),
  SnapshotDetached: z.strictObject({ generation: z.int(), node: z.string() }),
  SnapshotCollected: z.strictObject({ generation: z.int() }),
  TimerFired: z.strictObject({ id: z.string() }),
  // templates
  ActorTemplateCreated: z.strictObject({
    uid: z.string(),
    spec: z.custom<z.infer<typeof actorTemplateSpecSchema>>(),
  }),
  GoldenSnapshotTaken: z.strictObject({ snapshot: snapshotSchema }),
  GoldenSnapshotFailed: z.strictObject({ errorMessage: z.string() }),
  ActorTemplateDeleted: z.strictObject({ goneUntilMs: z.int() }),
  // pools
  WorkerPoolCreated: z.strictObject({
    uid: z.string(),
    spec: z.custom<z.infer<typeof workerPoolSpecSchema>>(),
  }),
  WorkerPoolUpdated: z.strictObject({ spec: z.custom<z.infer<typeof workerPoolSpecSchema>>() }),
  WorkersPlaced: z.strictObject({
    workers: z.array(z.strictObject({ worker: z.string(), node: z.string() })),
  }),
  WorkerPoolDeleted: z.strictObject({ goneUntilMs: z.int() }),
  // atespaces
  AtespaceCreated: z.strictObject({ uid: z.string() }),
  AtespaceDeleted: z.strictObject({ goneUntilMs: z.int() }),
  // nodes
  NodeJoined: z.strictObject({ uid: z.string(), spec: nodeSpecSchema }),
  NodeSuspected: z.strictObject({ silentMs: z.int() }),
  NodeRecovered: z.strictObject({}),
  NodeDrainStarted: z.strictObject({}),
  NodeLost: z.strictObject({ silentMs: z.int() }),
  // of the shard itself
  ShardCreated: z.strictObject({ shards: z.int(), formatVersion: z.literal(1) }),
  ShardOwned: z.strictObject({ owner: z.string() }),
  /** A durable command's "no", so that it survives a restart. */
  CommandRefused: z.strictObject({
    command: z.string(),
    code: z.string(),
    id: z.string(),
    message: z.string(),
  }),
} as const

export type EventName = keyof typeof EVENT_SCHEMAS
export type EventData<Name extends EventName> = z.infer<(typeof EVENT_SCHEMAS)[Name]>
/** An event as deciders and folds see it. */
export type DomainEvent = {
  [Name in EventName]: { readonly type: Name; readonly data: EventData<Name> }
}[EventName]
/** The events of the given names only. */
export type EventOf<Name extends EventName> = Extract<DomainEvent, { type: Name }>

/** `ActorResumeStarted` → `dev.torpor.actor.resume-started.v1`. */
export function cloudEventType(name: EventName): string {
  const words = name.split(/(?=[A-Z])/).map((word) => word.toLowerCase())
  return `dev.torpor.${words[0]}.${words.slice(1).join('-')}.v1`
}

const NAMES_BY_TYPE = new Map<string, EventName>(
  (Object.keys(EVENT_SCHEMAS) as EventName[]).map((name) => [cloudEventType(name), name]),
)

/** The reverse of {@link cloudEventType}; undefined for a type that this version does not know. */
export const eventNameOf = (type: string): EventName | undefined => NAMES_BY_TYPE.get(type)
