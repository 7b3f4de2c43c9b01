import { z } from 'zod'
import { LIMITS } from '../limits.ts'
import { bytesQuantity, cpuQuantity, durationQuantity } from './quantities.ts'
import { snapshotSchema } from './snapshot.ts'

export const sandboxClassSchema = z.enum(['gvisor', 'microvm'])
/** The set of classes is closed: two names. */
export type SandboxClass = z.infer<typeof sandboxClassSchema>

const dnsLabel = z.string().regex(/^[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?$/, 'is no DNS label')
const absolutePath = z.string().regex(/^\/[^\0]*$/, 'must begin with "/"')

const probeSchema = z.strictObject({
  httpGet: z.strictObject({ path: absolutePath.default('/'), port: z.int().min(1).max(65535) }),
  timeout: durationQuantity.default(LIMITS.probeTimeoutMs),
})

const containerSchema = z.strictObject({
  name: dnsLabel,
  /** `oci:<folder>:<tag>` for an OCI layout on the node, or a registry reference. */
  image: z.string().min(1).max(512),
  command: z.array(z.string().max(4096)).max(64).default([]),
  args: z.array(z.string().max(4096)).max(64).default([]),
  env: z
    .array(z.strictObject({ name: z.string().min(1), value: z.string().max(32_768) }))
    .max(32)
    .default([]),
  ports: z
    .array(z.strictObject({ containerPort: z.int().min(1).max(65535) }))
    .max(16)
    .default([]),
  wakeupProbe: probeSchema.optional(),
  volumeMounts: z
    .array(z.strictObject({ name: dnsLabel, mountPath: absolutePath }))
    .max(32)
    .default([]),
})

const volumeSchema = z.strictObject({ name: dnsLabel, durableDir: z.strictObject({}) })

/** What a user writes under `spec` of an ActorTemplate. */
export const actorTemplateSpecSchema = z.strictObject({
  sandboxClasses: z.array(z.strictObject({ name: sandboxClassSchema })).length(1),
  containers: z.array(containerSchema).length(1),
  volumes: z.array(volumeSchema).max(32).default([]),
  resources: z
    .strictObject({
      limits: z.strictObject({
        cpu: cpuQuantity.prefault('500m'),
        memory: bytesQuantity.prefault('256Mi'),
        disk: bytesQuantity.prefault('1Gi'),
      }),
    })
    .prefault({ limits: {} }),
  workerSelector: z.strictObject({ matchLabels: z.record(z.string(), z.string()) }).optional(),
  snapshotConfig: z
    .strictObject({
      preferredFidelity: z.enum(['SNAPSHOT_FIDELITY_MEMORY']).default('SNAPSHOT_FIDELITY_MEMORY'),
      uploadDelay: durationQuantity.default(LIMITS.uploadDelayMs),
      detachDelay: durationQuantity.default(LIMITS.detachDelayMs),
    })
    .prefault({}),
  /** 0 means off. */
  idleTimeout: durationQuantity.default(0),
  crashPolicy: z.enum(['manual', 'revert', 'restart']).default('manual'),
})

export type ActorTemplateSpec = z.infer<typeof actorTemplateSpecSchema>

export const goldenStatusSchema = z.strictObject({
  phase: z.enum(['PENDING', 'READY', 'FAILED']),
  snapshot: snapshotSchema.optional(),
  errorMessage: z.string().optional(),
})

/** The state of one template in the log. */
export type ActorTemplate = {
  readonly uid: string
  readonly atespace: string
  readonly name: string
  readonly version: number
  readonly createTimeMs: number
  readonly spec: ActorTemplateSpec
  readonly golden: z.infer<typeof goldenStatusSchema>
}
