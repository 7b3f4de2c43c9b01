import { z } from 'zod'
import type { EntityKind } from '../names.ts'
import { actorTemplateSpecSchema } from '../resources/actor-template.ts'
import { durationQuantity } from '../resources/quantities.ts'
import { workerPoolSpecSchema } from '../resources/worker-pool.ts'
import { LIMITS } from '../limits.ts'

/**
 * Every command that people send, by its verb: imperative. The verb is the last token of the subject, its kind tells
 * which entity the two names before it mean.
 */
export const COMMANDS = {
  CreateActor: command(
    'actor',
    z.strictObject({ template: z.strictObject({ atespace: z.string(), name: z.string() }) }),
  ),
  ResumeActor: command('actor', z.strictObject({ trigger: z.string().max(64).default('caller') })),
  SuspendActor: command(
    'actor',
    z.strictObject({
      mode: z.enum(['async', 'sync']).default('async'),
      drain: z.enum(['drain', 'refuse', 'force']).default('drain'),
      drainTimeout: durationQuantity.default(LIMITS.drainMs),
    }),
  ),
  RevertActor: command('actor', z.strictObject({ thenResume: z.boolean().default(false) })),
  DeleteActor: command('actor', z.strictObject({ anyState: z.boolean().default(false) })),
  CreateActorTemplate: command('actor-template', z.strictObject({ spec: actorTemplateSpecSchema })),
  DeleteActorTemplate: command('actor-template', z.strictObject({})),
  CreateWorkerPool: command('worker-pool', z.strictObject({ spec: workerPoolSpecSchema })),
  UpdateWorkerPool: command('worker-pool', z.strictObject({ spec: workerPoolSpecSchema })),
  DeleteWorkerPool: command('worker-pool', z.strictObject({})),
  CreateAtespace: command('atespace', z.strictObject({})),
  DeleteAtespace: command('atespace', z.strictObject({})),
  DrainNode: command('node', z.strictObject({})),
} as const

/** Questions about one entity, answered by its shard's owner from committed state, on the fast door only. */
export const QUERIES = {
  GetActor: 'actor',
  GetActorTemplate: 'actor-template',
  GetWorkerPool: 'worker-pool',
  GetAtespace: 'atespace',
  GetNode: 'node',
  GetActorLogs: 'actor',
} as const satisfies Record<string, EntityKind>

/** Questions about many, answered by the projector from PostgreSQL on `torpor.v1.query.<verb>`. */
export const LIST_QUERIES = [
  'ListActors',
  'ListActorTemplates',
  'ListWorkerPools',
  'ListAtespaces',
  'ListNodes',
] as const

export const listRequestSchema = z.strictObject({
  /** Empty for all. */
  atespace: z.string().default(''),
  pageSize: z.int().min(1).max(LIMITS.listPageSizeMax).default(LIMITS.listPageSizeDefault),
  pageToken: z.string().max(256).default(''),
})
export type ListRequest = z.infer<typeof listRequestSchema>
export type ListReply<Item> = { readonly items: readonly Item[]; readonly nextPageToken: string }

export type CommandName = keyof typeof COMMANDS
export type CommandData<Name extends CommandName> = z.output<(typeof COMMANDS)[Name]['schema']>
/** What a client may send: quantities as people write them, defaults left out. */
export type CommandInput<Name extends CommandName> = z.input<(typeof COMMANDS)[Name]['schema']>
export type QueryName = keyof typeof QUERIES
export type ListQueryName = (typeof LIST_QUERIES)[number]

export const isCommandName = (verb: string): verb is CommandName => Object.hasOwn(COMMANDS, verb)
export const isQueryName = (verb: string): verb is QueryName => Object.hasOwn(QUERIES, verb)

/** What a client sends: a CloudEvent whose type is the verb. A bare JSON object is taken as `data`. */
export const commandEnvelopeSchema = z.strictObject({
  specversion: z.literal('1.0'),
  id: z.string().min(1).max(64),
  type: z.string(),
  source: z.string().max(256).default('client'),
  time: z.string().optional(),
  subject: z.string().optional(),
  datacontenttype: z.string().optional(),
  correlationid: z.string().max(64).optional(),
  traceparent: z.string().max(64).optional(),
  data: z.unknown(),
})
export type CommandEnvelope = z.infer<typeof commandEnvelopeSchema>

/** Every reply on the fast door and to lists. */
export type Reply<Result> =
  | { readonly ok: true; readonly result: Result }
  | { readonly ok: false; readonly error: import('../errors.ts').Refusal }

function command<Kind extends EntityKind, Schema extends z.ZodType>(kind: Kind, schema: Schema) {
  return { kind, schema } as const
}
