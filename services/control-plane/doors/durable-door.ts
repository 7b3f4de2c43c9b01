import type { DurableCommand, DurableCommands, HostCommand } from '@torpor/contracts'
import {
  entityKey,
  fault,
  formatUuidV7,
  isUuidV7,
  parseCommandSubject,
  sha256Hex,
  shardOf,
} from '@torpor/contracts'
import type { Context } from '../context.ts'
import { handle } from '../handlers/handle.ts'
import { parseCommand } from './parse-command.ts'
import { createFloors } from './durable-floors.ts'

const ANONYMOUS = { principal: 'anonymous', proof: 'anonymous' } as const

/**
 * `torpor.v1.cmd.>`, kept in the stream COMMANDS: the PubAck says accepted, the outcome is read from the events. Commands of
 * one entity are decided in the order of the stream. What was not decided when an owner died is decided by the next: it reads
 * from the floor that the shard's frames carry.
 */
export function openDurableDoor(context: Context, commands: DurableCommands): { close(): void } {
  const floors = createFloors(context.host)
  let reading = new AbortController()
  const restart = () => {
    reading.abort()
    reading = new AbortController()
    void read(context, commands, floors, reading.signal)
  }
  context.host.onOwned((shard) => {
    floors.begin(shard)
    restart()
  })
  context.host.onLost((shard) => floors.end(shard))
  for (const shard of context.host.ownedShards()) floors.begin(shard)
  restart()
  return { close: () => reading.abort() }
}

async function read(
  context: Context,
  commands: DurableCommands,
  floors: ReturnType<typeof createFloors>,
  signal: AbortSignal,
): Promise<void> {
  const lastOfEntity = new Map<string, Promise<void>>()
  try {
    for await (const message of commands.follow(floors.lowest() + 1, signal)) {
      const shard = shardOfSubject(context, message.subject)
      if (signal.aborted || !floors.take(shard, message.sequence)) continue
      const key = entityOf(message)
      const before = lastOfEntity.get(key) ?? Promise.resolve()
      const done = before
        .then(() => decide(context, message))
        .then(() => floors.done(shard, message.sequence))
      const last = done.catch((cause: unknown) => {
        context.note('warn', 'a durable command waits for its shard to be owned again', {
          cause: String(cause),
        })
      })
      lastOfEntity.set(key, last)
      void last.then(() => lastOfEntity.get(key) === last && lastOfEntity.delete(key))
    }
  } catch (cause) {
    if (!signal.aborted) context.note('error', 'the durable door stopped reading', { cause: String(cause) })
  }
}

const shardOfSubject = (context: Context, subject: string): number => {
  const address = parseCommandSubject(subject)
  return shardOf(address?.atespace ?? '', address?.name ?? '', context.shards)
}

function entityOf(message: DurableCommand): string {
  const address = parseCommandSubject(message.subject)
  return `${address?.atespace}/${address?.name}`
}

async function decide(context: Context, message: DurableCommand): Promise<void> {
  const fallbackId = idOfMessage(message)
  const parsed = parseCommand({
    subject: message.subject,
    data: message.data,
    fallbackId,
    principal: ANONYMOUS,
  })
  if (!parsed.ok) {
    context.note('warn', parsed.refusal.message, { sequence: message.sequence, subject: message.subject })
    return
  }
  const command: HostCommand = { ...parsed.command, id: keepOrMake(parsed.command.id, fallbackId) }
  const reply = await handle({ ...command, durableSequence: message.sequence }, context)
  if (!reply.ok) context.note('info', reply.error.message, { command: entityKey(command.target) })
  if (!reply.ok && ['LOG_UNAVAILABLE', 'SHARD_MOVED', 'SHARD_BUSY'].includes(reply.error.code)) {
    throw fault(reply.error.code, reply.error.id)
  }
}

/** The id that a plain client gave by `Nats-Msg-Id`, else one that the message's place in the stream gives: the same each time. */
function idOfMessage(message: DurableCommand): string {
  const given = message.headers['Nats-Msg-Id']
  if (given !== undefined && isUuidV7(given)) return given
  return formatUuidV7(message.timeMs, Buffer.from(sha256Hex(`COMMANDS/${message.sequence}`), 'hex'))
}

const keepOrMake = (id: string, fallbackId: string): string => (isUuidV7(id) ? id : fallbackId)
