import type { Bus, Clock, EntityRef, Reply } from '@torpor/contracts'
import { GET_SYSTEM, LIMITS, SUBJECTS, SUBJECT_HEADER, WHOLE_SYSTEM, shardOf } from '@torpor/contracts'

type DoorOptions = {
  readonly timeoutMs: number
  readonly headers?: Readonly<Record<string, string>>
}

/** One request about an entity, to the owner of its shard. Rejects as the bus does. */
export type OwnerDoor = (
  ref: EntityRef,
  verb: string,
  bytes: Uint8Array,
  options: DoorOptions,
) => Promise<Uint8Array>

/** An owner that does not answer at once is not there: nobody serves its subject. */
const NOBODY_MS = 500

/** Whoever asks so often is here to stay: it pays to ask how many shards there are. */
export const STAYS_AFTER_REQUESTS = 16

/**
 * Goes straight to the owner of the shard once it has asked often, which saves the hop through another control plane. Where nobody serves that subject (the shard is between two owners), any control plane takes the request.
 * @example const ask = ownerDoor(bus, clock); const reply = await ask(ref, 'ResumeActor', bytes, { timeoutMs: 30_000 })
 */
export function ownerDoor(bus: Bus, clock: Clock): OwnerDoor {
  let shards: number | undefined
  let asking = false
  let requests = 0
  const learn = async (): Promise<void> => {
    if (asking || requests < STAYS_AFTER_REQUESTS) return
    asking = true
    shards = await askShards(bus).catch(() => undefined)
    asking = false
  }
  return async (ref, verb, bytes, options) => {
    const subject = SUBJECTS.rpc(ref, verb)
    if (shards === undefined) {
      requests += 1
      void learn()
      return bus.request(subject, bytes, options)
    }
    const sentMs = clock.monotonicMs()
    const headers = { ...options.headers, [SUBJECT_HEADER]: subject }
    const owner = SUBJECTS.shardRpc(shardOf(ref.atespace, ref.name, shards))
    try {
      return await bus.request(owner, bytes, { ...options, headers })
    } catch (cause) {
      if (clock.monotonicMs() - sentMs > NOBODY_MS) throw cause
      return bus.request(subject, bytes, options)
    }
  }
}

async function askShards(bus: Bus): Promise<number | undefined> {
  const subject = SUBJECTS.rpc({ atespace: WHOLE_SYSTEM, name: WHOLE_SYSTEM }, GET_SYSTEM)
  const answer = await bus.request(subject, new TextEncoder().encode('{}'), {
    timeoutMs: LIMITS.rpcTimeoutMs,
  })
  const reply = JSON.parse(new TextDecoder().decode(answer)) as Reply<{ readonly shards?: number }>
  return reply.ok ? reply.result.shards : undefined
}
