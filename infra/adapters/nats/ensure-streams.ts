import { fault, LIMITS, STREAMS } from '@torpor/contracts'
import type { JetStreamManager } from '@nats-io/jetstream'
import { JetStreamApiError, jetstreamManager } from '@nats-io/jetstream'
import { Kvm } from '@nats-io/kv'
import type { BusLink } from './link.ts'
import type { StreamOptions, StreamPlan } from './stream-configs.ts'
import { leaseBucketPlan, SHARDS_METADATA, streamPlans } from './stream-configs.ts'

const STREAM_NAME_IN_USE = 10058
const STREAM_NOT_FOUND = 10059

/**
 * Makes every stream of the system that is not there: idempotent, by any number of callers at once. A system that exists
 * keeps its number of shards and the settings of its streams.
 * @returns the number of shards of the system
 */
export async function ensureStreams(link: BusLink, wanted: StreamOptions): Promise<number> {
  try {
    const manager = await jetstreamManager(link.connection, {
      checkAPI: false,
      timeout: LIMITS.streamRequestTimeoutMs,
    })
    const shards = (await recordedShards(manager)) ?? wanted.shards
    const options = { ...wanted, shards }
    for (const plan of streamPlans(options)) await ensureStream(manager, plan)
    await ensureBucket(link, manager, options)
    return (await recordedShards(manager)) ?? shards
  } catch (cause) {
    const detail = cause instanceof Error ? cause.message : String(cause)
    throw fault('BUS_UNAVAILABLE', 'streams', { detail, cause })
  }
}

/** Number of shards that an existing system was made with; undefined when there is none. */
async function recordedShards(manager: JetStreamManager): Promise<number | undefined> {
  const info = await streamInfo(manager, STREAMS.log(0))
  const recorded = info?.config.metadata?.[SHARDS_METADATA]
  return recorded === undefined ? undefined : Number(recorded)
}

async function ensureStream(manager: JetStreamManager, plan: StreamPlan): Promise<void> {
  if ((await streamInfo(manager, plan.name)) !== undefined) return
  try {
    await manager.streams.add(plan)
  } catch (cause) {
    if (!hasCode(cause, STREAM_NAME_IN_USE)) throw cause
  }
}

async function ensureBucket(link: BusLink, manager: JetStreamManager, options: StreamOptions): Promise<void> {
  const plan = leaseBucketPlan(options)
  if ((await streamInfo(manager, `KV_${plan.name}`)) !== undefined) return
  await new Kvm(link.connection).create(plan.name, plan.options)
}

async function streamInfo(manager: JetStreamManager, name: string) {
  try {
    return await manager.streams.info(name)
  } catch (cause) {
    if (hasCode(cause, STREAM_NOT_FOUND)) return undefined
    throw cause
  }
}

const hasCode = (thrown: unknown, code: number): boolean =>
  thrown instanceof JetStreamApiError && thrown.code === code
