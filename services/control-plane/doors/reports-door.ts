import type { BusMessage, HostCommand, Refusal, Reply, ReportName } from '@torpor/contracts'
import {
  ALL,
  CONTROL_PLANE_QUEUE,
  REPORTS,
  actorRef,
  parseReportSubject,
  refuse,
  reportEnvelopeSchema,
} from '@torpor/contracts'
import type { Context } from '../context.ts'
import { replyOfFault } from '../entities/fetch-entity.ts'
import { decodeJson, encodeJson } from '../entities/json.ts'
import { commandDigest } from '../entities/system-command.ts'
import { sendToOwner } from './ask-owner.ts'

/**
 * `torpor.v1.report.>`: what nodes say happened. Answered once the event is in the log, or with the refusal that tells the
 * node that nothing will come of it; a fault tells it to send the report again.
 */
export function openReportsDoor(context: Context): { close(): void } {
  const door = context.bus.subscribe(
    ALL.reports,
    (message, respond) => {
      void take(context, message)
        .catch(replyOfFault)
        .then((reply) => respond(encodeJson(reply)))
    },
    { queue: CONTROL_PLANE_QUEUE },
  )
  return { close: () => door.unsubscribe() }
}

async function take(context: Context, message: BusMessage): Promise<Reply<unknown>> {
  const parsed = parseReport(message)
  return 'refusal' in parsed ? { ok: false, error: parsed.refusal } : sendToOwner(context, parsed.command)
}

function parseReport(message: BusMessage): { readonly command: HostCommand } | { readonly refusal: Refusal } {
  const address = parseReportSubject(message.subject)
  if (address === undefined) return { refusal: refuse('COMMAND_MALFORMED', message.subject) }
  const envelope = reportEnvelopeSchema.safeParse(decodeJson(message.data))
  if (!envelope.success) {
    return { refusal: refuse('COMMAND_MALFORMED', 'report', envelope.error.issues[0]?.message) }
  }
  const { id, type, actoruid, data } = envelope.data
  if (!isReportName(type)) return { refusal: refuse('COMMAND_UNKNOWN', type) }
  const parsed = REPORTS[type].safeParse(data)
  if (!parsed.success) return { refusal: refuse('COMMAND_MALFORMED', type, parsed.error.issues[0]?.message) }
  const target = actorRef(address.atespace, address.name)
  return {
    command: {
      id,
      type: `Report${type}`,
      target,
      data: parsed.data,
      facts: { node: address.node, actorUid: actoruid },
      digest: commandDigest(type, target, data),
      principal: { principal: `node/${address.node}`, proof: 'subject' },
      correlationId: id,
    },
  }
}

const isReportName = (type: string): type is ReportName => Object.hasOwn(REPORTS, type)
