import type { HostCommand, Reply } from '@torpor/contracts'
import { LIMITS, SUBJECTS, shardOf } from '@torpor/contracts'
import type { Context } from '../context.ts'
import { replyOfFault } from '../entities/fetch-entity.ts'
import { decodeJson, encodeJson } from '../entities/json.ts'
import { declareLostHere } from '../effects/lost-nodes.ts'
import { handle } from '../handlers/handle.ts'

type SystemMessage =
  | { readonly kind: 'command'; readonly command: HostCommand }
  | { readonly kind: 'node-lost'; readonly shard: number; readonly node: string }

/**
 * `torpor.v1.shard.<n>.system`: what control planes say to each other. Bus permissions let nobody else publish there, so a
 * command is taken as it is.
 */
export function openSystemDoor(context: Context): { close(): void } {
  const owned = new Map<number, { unsubscribe(): void }>()
  const serve = (shard: number) =>
    owned.set(
      shard,
      context.bus.subscribe(SUBJECTS.shardSystem(shard), (message, respond) => {
        void take(context, decodeJson(message.data) as SystemMessage)
          .catch(replyOfFault)
          .then((reply) => respond(encodeJson(reply)))
      }),
    )
  context.host.onOwned(serve)
  context.host.onLost((shard) => {
    owned.get(shard)?.unsubscribe()
    owned.delete(shard)
  })
  for (const shard of context.host.ownedShards()) serve(shard)
  return { close: () => owned.forEach((subscription) => subscription.unsubscribe()) }
}

/** Gives a command to the owner of its target, here or elsewhere. Rejects when no owner answers. */
export async function sendToOwner(context: Context, command: HostCommand): Promise<Reply<unknown>> {
  const shard = shardOf(command.target.atespace, command.target.name, context.shards)
  if (context.host.owns(shard)) return handle(command, context).catch(replyOfFault)
  return ask(context, shard, { kind: 'command', command })
}

/** Tells the owner of `shard` that a node is lost. Rejects when no owner answers. */
export const sendNodeLost = (context: Context, shard: number, node: string): Promise<Reply<unknown>> =>
  context.host.owns(shard)
    ? declareLostHere(context, shard, node)
    : ask(context, shard, { kind: 'node-lost', shard, node })

async function ask(context: Context, shard: number, message: SystemMessage): Promise<Reply<unknown>> {
  const bytes = await context.bus.request(SUBJECTS.shardSystem(shard), encodeJson(message), {
    timeoutMs: LIMITS.rpcTimeoutMs,
  })
  return decodeJson(bytes) as Reply<unknown>
}

async function take(context: Context, message: SystemMessage): Promise<Reply<unknown>> {
  return message.kind === 'node-lost'
    ? declareLostHere(context, message.shard, message.node)
    : handle(message.command, context)
}
