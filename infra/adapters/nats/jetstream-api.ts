import { fault, LIMITS } from '@torpor/contracts'
import type { BusLink } from './link.ts'
import { unanswered } from './link.ts'

/** An error as JetStream itself answers it. */
export type ApiError = { readonly code: number; readonly err_code?: number; readonly description?: string }

/** Expected last sequence was another: plain, and in flight on a cluster. */
const WRONG_LAST_SEQUENCE = new Set([10071, 10164])

export const isWrongSequence = (error: ApiError): boolean => WRONG_LAST_SEQUENCE.has(error.err_code ?? 0)

export type PubAck =
  | { readonly seq: number; readonly error?: undefined }
  | { readonly seq?: undefined; readonly error: ApiError }

export const parseAnswer = <Body>(data: Uint8Array): Body =>
  JSON.parse(new TextDecoder().decode(data)) as Body

/** Asks JetStream, of the stream's leader. Fault BUS_UNAVAILABLE when there is no answer or it is an error. */
export async function askJetStream<Body>(link: BusLink, verb: string, body?: unknown): Promise<Body> {
  const subject = `$JS.API.${verb}`
  const data = body === undefined ? '' : JSON.stringify(body)
  const answer = await link.ask(subject, data, { timeoutMs: LIMITS.streamRequestTimeoutMs })
  if (answer.kind !== 'answered') throw unanswered(link, answer, subject)
  const reply = parseAnswer<Body & { error?: ApiError }>(answer.data)
  if (reply.error === undefined) return reply
  throw fault('BUS_UNAVAILABLE', subject, {
    detail: reply.error.description ?? `code ${reply.error.code}`,
    cause: reply.error,
  })
}

export type StreamState = {
  readonly firstSequence: number
  readonly lastSequence: number
  readonly metadata: Readonly<Record<string, string>>
}

type StreamInfoReply = {
  readonly config: { readonly metadata?: Record<string, string> }
  readonly state: { readonly first_seq: number; readonly last_seq: number }
}

/** First and last sequence of a stream, from its leader. */
export async function streamState(link: BusLink, stream: string): Promise<StreamState> {
  const { config, state } = await askJetStream<StreamInfoReply>(link, `STREAM.INFO.${stream}`)
  return {
    firstSequence: state.first_seq,
    lastSequence: state.last_seq,
    metadata: config.metadata ?? {},
  }
}
