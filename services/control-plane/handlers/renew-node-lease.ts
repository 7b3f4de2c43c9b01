import type { HostCommand, Node, RenewNodeLeaseResult, Reply } from '@torpor/contracts'
import { LIMITS, isGone, refuse, renewNodeLeaseSchema } from '@torpor/contracts'
import type { Context } from '../context.ts'
import { systemCommand } from '../entities/system-command.ts'

/** A node lives. Costs no event unless it was suspected. */
export async function renewNodeLease(
  command: HostCommand,
  context: Context,
): Promise<Reply<RenewNodeLeaseResult>> {
  const request = renewNodeLeaseSchema.safeParse(command.data)
  if (!request.success) {
    return {
      ok: false,
      error: refuse('COMMAND_MALFORMED', 'RenewNodeLease', request.error.issues[0]?.message),
    }
  }
  const { state } = await context.host.read(command.target)
  const node = state === undefined || isGone(state) ? undefined : (state as Node)
  const known = node?.spec.incarnation === request.data.incarnation && node.state !== 'NODE_STATE_LOST'
  if (!known) return { ok: true, result: { grantedMs: 0, rejoin: true } }
  context.leases.grant(command.target.name, request.data.incarnation)
  if (node.state === 'NODE_STATE_SUSPECT') {
    await context.host.submit(systemCommand(context, command.target, 'RecoverNode', {}))
  }
  return { ok: true, result: { grantedMs: LIMITS.fenceMs, rejoin: false } }
}
