import type { DurableCommand, EntityRef, HostCommand, Refusal } from '@torpor/contracts'
import { checkRef, formatUuidV7, isUuidV7, parseCommandSubject, sha256Hex } from '@torpor/contracts'
import { commandDigest } from '../entities/system-command.ts'
import { kindOfVerb, parseCommand } from './parse-command.ts'

const ANONYMOUS = { principal: 'anonymous', proof: 'anonymous' } as const

/** A message as a command; with a refusal when it is none. Without a command when it does not even name an entity. */
export type ReadCommand =
  | { readonly command: HostCommand; readonly refusal?: Refusal }
  | { readonly command?: undefined; readonly refusal: Refusal }

/** Reads a message of the stream COMMANDS. The same message gives the same command, whoever reads it and whenever. */
export function commandOf(message: DurableCommand): ReadCommand {
  const { subject, data, sequence } = message
  const fallbackId = idOfMessage(message)
  const parsed = parseCommand({ subject, data, fallbackId, principal: ANONYMOUS })
  if (parsed.ok) {
    const { id } = parsed.command
    const command = { ...parsed.command, id: isUuidV7(id) ? id : fallbackId, durableSequence: sequence }
    return { command }
  }
  const { refusal } = parsed
  const address = parseCommandSubject(subject)
  if (address === undefined) return { refusal }
  const { atespace, name, verb } = address
  const target: EntityRef = { kind: kindOfVerb(verb, atespace) ?? 'actor', atespace, name }
  if (checkRef(target) !== undefined) return { refusal }
  const digest = commandDigest(verb, target, sha256Hex(data))
  const identity = { id: fallbackId, correlationId: fallbackId, principal: ANONYMOUS, digest }
  return { command: { ...identity, type: verb, target, data: {}, durableSequence: sequence }, refusal }
}

/** The id that a plain client gave by `Nats-Msg-Id`, else one that the message's place in the stream gives. */
function idOfMessage({ headers, sequence, timeMs }: DurableCommand): string {
  const given = headers['Nats-Msg-Id']
  if (given !== undefined && isUuidV7(given)) return given
  return formatUuidV7(timeMs, Buffer.from(sha256Hex(`COMMANDS/${sequence}`), 'hex'))
}
