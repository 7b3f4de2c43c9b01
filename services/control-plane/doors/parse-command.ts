import type {
  CommandEnvelope,
  EntityKind,
  EntityRef,
  HostCommand,
  Principal,
  Refusal,
} from '@torpor/contracts'
import {
  COMMANDS,
  QUERIES,
  WHOLE_SYSTEM,
  checkRef,
  commandEnvelopeSchema,
  isCommandName,
  isQueryName,
  parseCommandSubject,
  refuse,
} from '@torpor/contracts'
import type { z } from 'zod'
import { commandDigest } from '../entities/system-command.ts'
import { decodeJson } from '../entities/json.ts'

/** Verbs of node agents: on the fast door only, not for people. */
const NODE_VERBS = ['JoinNode', 'RenewNodeLease'] as const

export type ParsedCommand =
  | { readonly ok: true; readonly command: HostCommand }
  | { readonly ok: false; readonly refusal: Refusal; readonly id: string }

export type RawCommand = {
  readonly subject: string
  readonly data: Uint8Array
  /** Taken when the body has no id of its own. */
  readonly fallbackId: string
  readonly principal: Principal
}

/** Bytes on a command subject → the command that they mean, or the one line that says why they mean none. */
export function parseCommand(raw: RawCommand): ParsedCommand {
  const address = parseCommandSubject(raw.subject)
  const no = (refusal: Refusal): ParsedCommand => ({ ok: false, refusal, id: raw.fallbackId })
  if (address === undefined)
    return no(refuse('COMMAND_MALFORMED', raw.subject, 'its subject has another form'))
  const kind = kindOfVerb(address.verb, address.atespace)
  if (kind === undefined) return no(refuse('COMMAND_UNKNOWN', address.verb))
  const target: EntityRef = { kind, atespace: address.atespace, name: address.name }
  const badName = checkRef(target)
  if (badName !== undefined) return no(badName)
  const envelope = readEnvelope(raw, address.verb)
  if ('refusal' in envelope) return no(envelope.refusal)
  const data = readData(address.verb, envelope.data)
  if ('refusal' in data) return no(data.refusal)
  return {
    ok: true,
    command: {
      id: envelope.id,
      type: address.verb,
      target,
      data: data.value,
      digest: commandDigest(address.verb, target, envelope.data),
      principal: raw.principal,
      correlationId: envelope.correlationid ?? envelope.id,
      ...(envelope.traceparent === undefined ? {} : { traceparent: envelope.traceparent }),
    },
  }
}

/** Whom a verb is for; undefined for one that is not known. */
export function kindOfVerb(verb: string, atespace: string): EntityKind | undefined {
  if (isCommandName(verb)) return COMMANDS[verb].kind
  if (isQueryName(verb)) return QUERIES[verb]
  return atespace === WHOLE_SYSTEM && NODE_VERBS.some((known) => known === verb) ? 'node' : undefined
}

function readEnvelope(raw: RawCommand, verb: string): CommandEnvelope | { readonly refusal: Refusal } {
  let body: unknown
  try {
    body = decodeJson(raw.data)
  } catch {
    return { refusal: refuse('COMMAND_MALFORMED', verb, 'its body is not JSON') }
  }
  if (typeof body !== 'object' || body === null || Array.isArray(body)) {
    return { refusal: refuse('COMMAND_MALFORMED', verb, 'its body is no JSON object') }
  }
  if (!('specversion' in body)) {
    return { specversion: '1.0', id: raw.fallbackId, type: verb, source: 'client', data: body }
  }
  const envelope = commandEnvelopeSchema.safeParse(body)
  if (!envelope.success) return { refusal: refusalOfIssue(verb, envelope.error.issues[0]) }
  return envelope.data.type === verb
    ? envelope.data
    : { refusal: refuse('COMMAND_MALFORMED', verb, `its type is ${JSON.stringify(envelope.data.type)}`) }
}

function readData(verb: string, data: unknown): { readonly value: unknown } | { readonly refusal: Refusal } {
  if (!isCommandName(verb)) return { value: data }
  const parsed = COMMANDS[verb].schema.safeParse(data ?? {})
  return parsed.success ? { value: parsed.data } : { refusal: refusalOfIssue(verb, parsed.error.issues[0]) }
}

function refusalOfIssue(verb: string, issue: z.core.$ZodIssue | undefined): Refusal {
  const where = issue?.path.join('.') || 'body'
  if (issue?.code === 'unrecognized_keys') {
    return refuse('FIELD_UNKNOWN', `${verb} ${where}`, issue.keys.join(', '))
  }
  const code = where.startsWith('spec.sandboxClasses') ? 'CLASS_UNKNOWN' : 'COMMAND_MALFORMED'
  return refuse(code, `${verb} ${where}`, issue?.message ?? 'does not match the schema')
}
