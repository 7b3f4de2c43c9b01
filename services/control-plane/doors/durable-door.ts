import type { DurableCommand, DurableCommands, Refusal } from '@torpor/contracts'
import {
  isUndecided,
  LIMITS,
  parseCommandSubject,
  refusalOf,
  refuse,
  shardOf,
  sleep,
} from '@torpor/contracts'
import type { Context } from '../context.ts'
import { handle } from '../handlers/handle.ts'
import type { Floors, Turn } from './durable-floors.ts'
import { createFloors } from './durable-floors.ts'
import { commandOf } from './durable-command.ts'

/**
 * `torpor.v1.cmd.>`, kept in the stream COMMANDS: the PubAck says accepted, the outcome is read from the events.
 *
 * 1. Commands of one entity are decided in the order of the stream.
 * 2. What was not decided when an owner died is decided by the next: it reads from the floor that the shard's frames carry.
 * 3. Every refusal is remembered as the event `CommandRefused` of the command's target, also where the bytes are no command.
 *    Only what names no entity at all (its subject has another form, or a name that is no DNS label) is just noted in the log
 *    of the process, as "a durable command names nothing".
 */
export function openDurableDoor(context: Context, commands: DurableCommands): { close(): void } {
  const floors = createFloors(context.host)
  const lastOfEntity = new Map<string, Promise<void>>()
  let reading = new AbortController()
  const restart = () => {
    reading.abort()
    reading = new AbortController()
    void readOn(context, commands, floors, lastOfEntity, reading.signal)
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

async function readOn(
  context: Context,
  commands: DurableCommands,
  floors: Floors,
  lastOfEntity: Map<string, Promise<void>>,
  signal: AbortSignal,
): Promise<void> {
  while (!signal.aborted) {
    const lowest = floors.lowest()
    if (lowest === undefined) return
    try {
      for await (const message of commands.follow(lowest + 1, signal)) {
        if (signal.aborted) return
        enter(context, message, floors, lastOfEntity)
      }
    } catch (cause) {
      if (!signal.aborted) context.note('error', 'the durable door reads again', { cause: String(cause) })
    }
    // A reading ends by itself only where the connection was closed.
    if (!signal.aborted) await sleep(context.clock, LIMITS.rpcBackoffMsMax)
  }
}

/** Behind what came before it for the same entity, also in an earlier reading. */
function enter(
  context: Context,
  message: DurableCommand,
  floors: Floors,
  lastOfEntity: Map<string, Promise<void>>,
): void {
  const { atespace = '', name = '' } = parseCommandSubject(message.subject) ?? {}
  const turn = floors.take(shardOf(atespace, name, context.shards), message.sequence)
  if (turn === undefined) return
  const key = `${atespace}/${name}`
  const before = lastOfEntity.get(key) ?? Promise.resolve()
  const last = before.then(() => decideInTurn(context, message, turn))
  lastOfEntity.set(key, last)
  void last.then(() => lastOfEntity.get(key) === last && lastOfEntity.delete(key))
}

/** Never rejects: it is decided, or the next owner decides it. */
async function decideInTurn(context: Context, message: DurableCommand, turn: Turn): Promise<void> {
  let waitMs: number = LIMITS.rpcBackoffMsMin
  while (turn.isCurrent()) {
    const undecided = await decide(context, message).catch((cause: unknown) => refusalOf(cause))
    if (undecided === undefined) return turn.done()
    const { subject, sequence } = message
    context.note('warn', 'a durable command waits', { subject, sequence, cause: undecided.message })
    await sleep(context.clock, waitMs)
    waitMs = Math.min(2 * waitMs, LIMITS.rpcBackoffMsMax)
  }
}

/** Gives the reason when it could not be decided now; any other refusal is remembered, which is a decision. */
async function decide(context: Context, message: DurableCommand): Promise<Refusal | undefined> {
  const { command, refusal } = commandOf(message)
  if (command === undefined) {
    const { sequence, subject } = message
    context.note('warn', 'a durable command names nothing', { sequence, subject, cause: refusal.message })
    return undefined
  }
  const isTooOld = context.clock.nowMs() - message.timeMs > LIMITS.commandsAgeMs
  const refused = isTooOld ? refuse('COMMAND_EXPIRED', command.id) : refusal
  const reply =
    refused === undefined
      ? await handle(command, context).catch(
          (cause: unknown) => ({ ok: false, error: refusalOf(cause) }) as const,
        )
      : ({ ok: false, error: refused } as const)
  if (reply.ok) return undefined
  if (isUndecided(reply.error.code)) return reply.error
  // Known already when the decision itself was the refusal.
  await context.host.submit({ ...command, refused: reply.error })
  return undefined
}
