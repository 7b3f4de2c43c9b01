import type { Reply } from '@torpor/contracts'
import { SUBJECTS } from '@torpor/contracts'
import type { Context } from '../context.ts'
import { replyOfFault } from '../entities/fetch-entity.ts'
import { decodeJson, encodeJson } from '../entities/json.ts'
import { declareLostHere } from '../effects/lost-nodes.ts'
import { handle } from '../handlers/handle.ts'
import type { SystemMessage } from './ask-owner.ts'

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

async function take(context: Context, message: SystemMessage): Promise<Reply<unknown>> {
  return message.kind === 'node-lost'
    ? declareLostHere(context, message.shard, message.node)
    : handle(message.command, context)
}
