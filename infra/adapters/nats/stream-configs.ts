import { ALL, BUCKETS, LIMITS, STREAMS, SUBJECTS } from '@torpor/contracts'
import type { StreamConfig } from '@nats-io/jetstream'
import { DiscardPolicy, PersistMode, RetentionPolicy, StorageType } from '@nats-io/jetstream'

const NANOS_PER_MS = 1_000_000

/** Key in the metadata of LOG_0 under which the number of shards of the system is kept. */
export const SHARDS_METADATA = 'torpor-shards'

export type StreamOptions = { readonly shards: number; readonly replicas: number }

/** A stream as it is made; the name is always given. */
export type StreamPlan = Partial<StreamConfig> & Pick<StreamConfig, 'name' | 'subjects'>

/** Every stream of a system. Leases are a key-value bucket and are made apart. */
export const streamPlans = (options: StreamOptions): readonly StreamPlan[] => [
  ...Array.from({ length: options.shards }, (_, shard) => logPlan(shard, options)),
  eventsPlan(),
  commandsPlan(options),
  capturePlan(STREAMS.nodeCommands, ALL.nodeCommands),
  capturePlan(STREAMS.reports, ALL.reports),
]

/**
 * One subject, so that a million actors cost no subject index. Nothing can be deleted from inside; purging from the
 * front is the archiver's. The duplicate window is the smallest there is: appends are fenced, not deduplicated.
 */
const logPlan = (shard: number, { shards, replicas }: StreamOptions): StreamPlan => ({
  name: STREAMS.log(shard),
  subjects: [SUBJECTS.log(shard)],
  description: `The log of shard ${shard}: the truth. One fenced writer.`,
  retention: RetentionPolicy.Limits,
  storage: StorageType.File,
  discard: DiscardPolicy.New,
  num_replicas: replicas,
  deny_delete: true,
  deny_purge: false,
  allow_direct: false,
  duplicate_window: LIMITS.logDuplicateWindowMs * NANOS_PER_MS,
  metadata: { [SHARDS_METADATA]: String(shards) },
})

/** A window for people, rebuilt from the log when it is lost: cheap to write comes before safe. */
const eventsPlan = (): StreamPlan => ({
  name: STREAMS.events,
  subjects: [ALL.events],
  description: 'One CloudEvent per event, derived from the log. At least once, in order per actor.',
  retention: RetentionPolicy.Limits,
  storage: StorageType.File,
  discard: DiscardPolicy.Old,
  num_replicas: 1,
  persist_mode: PersistMode.Async,
  max_age: LIMITS.eventsAgeMs * NANOS_PER_MS,
  max_bytes: LIMITS.eventsBytesMax,
  allow_direct: true,
  duplicate_window: LIMITS.logDuplicateWindowMs * NANOS_PER_MS,
})

const commandsPlan = ({ replicas }: StreamOptions): StreamPlan => ({
  name: STREAMS.commands,
  subjects: [ALL.commands],
  description: 'The durable door: an acknowledged command is accepted.',
  retention: RetentionPolicy.Limits,
  storage: StorageType.File,
  discard: DiscardPolicy.Old,
  num_replicas: replicas,
  max_age: LIMITS.commandsAgeMs * NANOS_PER_MS,
  deny_delete: true,
})

/** Captures requests without answering them: an acknowledgement would be taken for the answer. */
const capturePlan = (name: string, subject: string): StreamPlan => ({
  name,
  subjects: [subject],
  description: 'What was asked of nodes or said by them, to read. Nothing depends on it.',
  retention: RetentionPolicy.Limits,
  storage: StorageType.Memory,
  discard: DiscardPolicy.Old,
  num_replicas: 1,
  no_ack: true,
  max_age: LIMITS.nodeMessagesAgeMs * NANOS_PER_MS,
  max_bytes: LIMITS.nodeMessagesBytesMax,
  duplicate_window: LIMITS.logDuplicateWindowMs * NANOS_PER_MS,
})

/** The bucket of leases: one value a key. */
export const leaseBucketPlan = ({ replicas }: StreamOptions) => ({
  name: BUCKETS.shards,
  options: { history: 1, replicas, ttl: LIMITS.leaseForgottenMs, storage: StorageType.File },
})
