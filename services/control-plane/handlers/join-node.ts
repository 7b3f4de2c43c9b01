import type { HostCommand, Reply } from '@torpor/contracts'
import { LIMITS, nodeSpecSchema, refuse } from '@torpor/contracts'
import { z } from 'zod'
import type { Context } from '../context.ts'

const requestSchema = z.strictObject({ spec: nodeSpecSchema })

/** A node agent that starts makes its node known, with what it offers. */
export async function joinNode(command: HostCommand, context: Context): Promise<Reply<unknown>> {
  const request = requestSchema.safeParse(command.data)
  if (!request.success) {
    return { ok: false, error: refuse('COMMAND_MALFORMED', 'JoinNode', request.error.issues[0]?.message) }
  }
  const outcome = await context.host.submit({ ...command, data: request.data })
  if (!outcome.ok) return { ok: false, error: outcome.refusal }
  context.leases.grant(command.target.name, request.data.spec.incarnation)
  return { ok: true, result: { grantedMs: LIMITS.fenceMs } }
}
