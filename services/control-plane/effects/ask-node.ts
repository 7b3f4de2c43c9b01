import type { NodeCommandName, Reply } from '@torpor/contracts'
import { LIMITS, SUBJECTS, refuse, uuidV7 } from '@torpor/contracts'
import type { Context } from '../context.ts'
import { decodeJson, encodeJson } from '../entities/json.ts'

/** One request to a node. A node that does not answer is the refusal NODE_UNAVAILABLE, never a rejection. */
export async function askNode<Result>(
  context: Pick<Context, 'bus' | 'clock' | 'random'>,
  node: string,
  verb: NodeCommandName,
  data: unknown,
): Promise<Reply<Result>> {
  const message = { id: uuidV7(context.clock, context.random), type: verb, data }
  try {
    const bytes = await context.bus.request(SUBJECTS.nodeCommand(node, verb), encodeJson(message), {
      timeoutMs: LIMITS.nodeCommandTimeoutMs,
    })
    return decodeJson(bytes) as Reply<Result>
  } catch {
    return { ok: false, error: refuse('NODE_UNAVAILABLE', node) }
  }
}
