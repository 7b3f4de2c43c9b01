import { z } from 'zod'
import { actorTemplateSpecSchema } from './actor-template.ts'
import { workerPoolSpecSchema } from './worker-pool.ts'

/** What `apiVersion` of a resource document says. */
export const API_VERSION = 'torpor.dev/v1'

const dnsLabel = z.string().regex(/^[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?$/, 'is no DNS label')

/** Kinds that people write in files, in the order in which they are applied: what others need comes first. */
export const DOCUMENT_KINDS = ['Atespace', 'WorkerPool', 'ActorTemplate'] as const

/** A resource as people write it in a file: `apiVersion`, `kind`, `metadata`, `spec`. Unknown fields are refused. */
export const resourceDocumentSchema = z.discriminatedUnion('kind', [
  z.strictObject({
    apiVersion: z.literal(API_VERSION),
    kind: z.literal('Atespace'),
    metadata: z.strictObject({ name: dnsLabel }),
  }),
  z.strictObject({
    apiVersion: z.literal(API_VERSION),
    kind: z.literal('WorkerPool'),
    metadata: z.strictObject({ name: dnsLabel }),
    spec: workerPoolSpecSchema,
  }),
  z.strictObject({
    apiVersion: z.literal(API_VERSION),
    kind: z.literal('ActorTemplate'),
    metadata: z.strictObject({ name: dnsLabel, atespace: dnsLabel }),
    spec: actorTemplateSpecSchema,
  }),
])

/** A document as written: quantities as text, defaults left out. This is what is sent. */
export type ResourceDocument = z.input<typeof resourceDocumentSchema>
