import type { Bus, Clock, Reply } from '@torpor/contracts'
import {
  GET_SYSTEM,
  LIMITS,
  SUBJECTS,
  SUBJECT_HEADER,
  WHOLE_SYSTEM,
  parseCommandSubject,
  shardOf,
} from '@torpor/contracts'

/** An owner that is there takes a request at once; a failure before this means that nobody serves its subject. */
const NOBODY_MS = 500
/** Whoever asks so often is here to stay: it pays to ask how many shards there are. */
export const STAYS_AFTER_REQUESTS = 16

/**
 * The bus, but that requests on the fast door (`torpor.v1.rpc.>`) go straight to the owner of their shard once there were many,
 * which saves the hop through another control plane. Where nobody serves that subject (the shard is between two owners), any
 * control plane takes the request.
 * @example const door = ownerDoor(bus, clock); await door.request(SUBJECTS.rpc(ref, 'ResumeActor'), bytes, { timeoutMs: 30_000 })
 */
export function ownerDoor(bus: Bus, clock: Clock): Bus {
  let shards: number | undefined
  let asking = false
  let requests = 0
  const learn = async (): Promise<void> => {
    requests += 1
    if (asking || requests < STAYS_AFTER_REQUESTS) return
    asking = true
    shards = await askShards(bus).catch(() => undefined)
    asking = false
  }
  return {
    ...bus,
    async request(subject, bytes, options) {
      const address = parseCommandSubject(subject)
      if (address === undefined) return bus.request(subject, bytes, options)
      if (shards === undefined) {
        void learn()
        return bus.request(subject, bytes, options)
      }
      const owner = SUBJECTS.shardRpc(shardOf(address.atespace, address.name, shards))
      const headers = { ...options.headers, [SUBJECT_HEADER]: subject }
      const sentMs = clock.monotonicMs()
      try {
        return await bus.request(owner, bytes, { ...options, headers })
      } catch (cause) {
        if (clock.monotonicMs() - sentMs > NOBODY_MS) throw cause
        return bus.request(subject, bytes, options)
      }
    },
  }
}

async function askShards(bus: Bus): Promise<number | undefined> {
  const subject = SUBJECTS.rpc({ atespace: WHOLE_SYSTEM, name: WHOLE_SYSTEM }, GET_SYSTEM)
  const request = new TextEncoder().encode('{}')
  const answer = await bus.request(subject, request, { timeoutMs: LIMITS.rpcTimeoutMs })
  const reply = JSON.parse(new TextDecoder().decode(answer)) as Reply<{ readonly shards?: number }>
  return reply.ok ? reply.result.shards : undefined
}
