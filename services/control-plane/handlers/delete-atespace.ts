import type { HostCommand, ListReply, Reply } from '@torpor/contracts'
import { LIMITS, SUBJECTS, refuse } from '@torpor/contracts'
import type { Context } from '../context.ts'
import { decodeJson, encodeJson } from '../entities/json.ts'
import { submit } from './submit.ts'

const HELD = ['ListActors', 'ListActorTemplates'] as const

/** Deletes an atespace that holds nothing. */
export async function deleteAtespace(command: HostCommand, context: Context): Promise<Reply<unknown>> {
  for (const verb of HELD) {
    const request = encodeJson({ atespace: command.target.name, pageSize: 1 })
    const bytes = await context.bus.request(SUBJECTS.query(verb), request, {
      timeoutMs: LIMITS.nodeCommandTimeoutMs,
    })
    const reply = decodeJson(bytes) as Reply<ListReply<unknown>>
    if (!reply.ok) return reply
    if (reply.result.items.length > 0) {
      return { ok: false, error: refuse('ATESPACE_NOT_EMPTY', command.target.name) }
    }
  }
  return submit(command, context)
}
