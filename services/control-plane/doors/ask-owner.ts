import type { HostCommand, Reply } from '@torpor/contracts'
import { LIMITS, SUBJECTS, requestAgain, shardOf } from '@torpor/contracts'
import type { Context } from '../context.ts'
import { replyOfFault } from '../entities/fetch-entity.ts'
import { decodeJson, encodeJson } from '../entities/json.ts'
import { handle } from '../handlers/handle.ts'

/** What control planes say to each other on `torpor.v1.shard.<n>.system`. */
export type SystemMessage =
  | { readonly kind: 'command'; readonly command: HostCommand }
  | { readonly kind: 'node-lost'; readonly shard: number; readonly node: string }

/** Gives a command to the owner of its target, here or elsewhere. Rejects when no owner answers. */
export async function sendToOwner(context: Context, command: HostCommand): Promise<Reply<unknown>> {
  const shard = shardOf(command.target.atespace, command.target.name, context.shards)
  if (context.host.owns(shard)) return handle(command, context).catch(replyOfFault)
  return askOwner(context, shard, { kind: 'command', command })
}

/** One request to the control plane that owns `shard`. Rejects when none answers. */
export async function askOwner(
  context: Context,
  shard: number,
  message: SystemMessage,
): Promise<Reply<unknown>> {
  const data = encodeJson(message)
  const send = (timeoutMs: number) => context.bus.request(SUBJECTS.shardSystem(shard), data, { timeoutMs })
  const bytes = await requestAgain(context.clock, send, {
    timeoutMs: LIMITS.rpcTimeoutMs,
    againMs: LIMITS.rpcAskAgainMs,
    isFinal: () => true,
  })
  return decodeJson(bytes) as Reply<unknown>
}
