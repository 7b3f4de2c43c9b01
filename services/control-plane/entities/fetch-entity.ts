import type { EntityRef, Reply } from '@torpor/contracts'
import { LIMITS, SUBJECTS, isGone, refusalOf } from '@torpor/contracts'
import type { Context } from '../context.ts'
import { decodeJson, encodeJson } from './json.ts'

const QUERY_OF_KIND = {
  actor: ['GetActor', 'actor'],
  'actor-template': ['GetActorTemplate', 'template'],
  'worker-pool': ['GetWorkerPool', 'workerPool'],
  atespace: ['GetAtespace', 'atespace'],
  node: ['GetNode', 'node'],
} as const

/**
 * The committed state of an entity, wherever its shard is: read here when it is owned here, else asked of its owner.
 * Undefined when there is none. Faults when its owner does not answer.
 */
export async function fetchEntity<State>(context: Context, ref: EntityRef): Promise<State | undefined> {
  if (context.host.owns(context.host.shardOf(ref))) {
    const { state } = await context.host.read(ref)
    return state === undefined || isGone(state) ? undefined : (state as State)
  }
  const [verb, field] = QUERY_OF_KIND[ref.kind]
  const bytes = await context.bus.request(SUBJECTS.rpc(ref, verb), encodeJson({}), {
    timeoutMs: LIMITS.nodeCommandTimeoutMs,
  })
  const reply = decodeJson(bytes) as Reply<Record<string, State>>
  return reply.ok ? reply.result[field] : undefined
}

/** What a thrown value says, as a reply. */
export const replyOfFault = (thrown: unknown): Reply<never> => ({ ok: false, error: refusalOf(thrown) })
