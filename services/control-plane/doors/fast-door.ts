import type { BusMessage, Principal, Reply } from '@torpor/contracts'
import {
  ALL,
  ANSWER_WHEN_HEADER,
  CONTROL_PLANE_QUEUE,
  GET_SYSTEM,
  LIMITS,
  SUBJECTS,
  SUBJECT_HEADER,
  parseCommandSubject,
  refuse,
  shardOf,
  uuidV7,
} from '@torpor/contracts'
import type { Context } from '../context.ts'
import { replyOfFault } from '../entities/fetch-entity.ts'
import { encodeJson } from '../entities/json.ts'
import { handle } from '../handlers/handle.ts'
import { parseCommand } from './parse-command.ts'

const ANONYMOUS: Principal = { principal: 'anonymous', proof: 'anonymous' }

/**
 * `torpor.v1.rpc.>`: a request whose reply is the outcome. Any control plane takes it and forwards it once to the owner of
 * its shard, who serves `torpor.v1.shard.<n>.rpc`; clients that know the shard go there by themselves.
 */
export function openFastDoor(context: Context): { close(): void } {
  const door = context.bus.subscribe(ALL.rpc, (message, respond) => void enter(context, message, respond), {
    queue: CONTROL_PLANE_QUEUE,
  })
  const owned = new Map<number, { unsubscribe(): void }>()
  const serve = (shard: number) =>
    owned.set(
      shard,
      context.bus.subscribe(SUBJECTS.shardRpc(shard), (message, respond) => {
        const subject = message.headers[SUBJECT_HEADER] ?? ''
        void answer(context, subject, message).then(respond)
      }),
    )
  context.host.onOwned(serve)
  context.host.onLost((shard) => {
    owned.get(shard)?.unsubscribe()
    owned.delete(shard)
  })
  for (const shard of context.host.ownedShards()) serve(shard)
  return {
    close() {
      door.unsubscribe()
      for (const subscription of owned.values()) subscription.unsubscribe()
    },
  }
}

async function enter(
  context: Context,
  message: BusMessage,
  respond: (data: Uint8Array) => void,
): Promise<void> {
  const address = parseCommandSubject(message.subject)
  if (address?.verb === GET_SYSTEM) {
    const result = { shards: context.shards, version: context.version, controlPlane: context.name }
    return respond(encodeJson({ ok: true, result }))
  }
  const shard = shardOf(address?.atespace ?? '', address?.name ?? '', context.shards)
  if (address === undefined || context.host.owns(shard)) {
    return respond(await answer(context, message.subject, message))
  }
  respond(await forward(context, shard, message))
}

async function forward(context: Context, shard: number, message: BusMessage): Promise<Uint8Array> {
  try {
    return await context.bus.request(SUBJECTS.shardRpc(shard), message.data, {
      timeoutMs: LIMITS.rpcTimeoutMs,
      headers: { ...message.headers, [SUBJECT_HEADER]: message.subject },
    })
  } catch {
    return encodeJson({ ok: false, error: refuse('SHARD_MOVED', `shard ${shard}`, 'no owner answers') })
  }
}

/** The outcome of the request, as bytes. Never rejects. */
async function answer(context: Context, subject: string, message: BusMessage): Promise<Uint8Array> {
  const fallbackId = uuidV7(context.clock, context.random)
  const parsed = parseCommand({ subject, data: message.data, fallbackId, principal: ANONYMOUS })
  const isForPlace = message.headers[ANSWER_WHEN_HEADER] === 'placed'
  const reply: Reply<unknown> = parsed.ok
    ? await handle(isForPlace ? { ...parsed.command, answerWhen: 'placed' } : parsed.command, context).catch(
        replyOfFault,
      )
    : { ok: false, error: parsed.refusal }
  return encodeJson(reply)
}
