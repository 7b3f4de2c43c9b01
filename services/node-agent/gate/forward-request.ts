import type { ClientRequest, IncomingMessage, ServerResponse } from 'node:http'
import type { ErrorCode } from '@torpor/contracts'
import { answerRefusal, hasBody, relayAnswer, relayBody } from '@torpor/contracts/http'
import type { Door } from './door.ts'
import {
  breakOff,
  clientExpects,
  GATE_HEADERS,
  failureOf,
  requestFraming,
  requestSandbox,
} from './sandbox-request.ts'

/** One try to have a request answered by its sandbox; a second one is made at most. */
type Attempt = {
  readonly door: Door
  readonly port: number
  cut?: ErrorCode
  upstream?: ClientRequest
  /** The body waits for the actor's `100 Continue`. */
  held: boolean
}

/**
 * Passes an admitted request to its sandbox and the answer back. It is counted from here until the connection to the
 * sandbox is done with it, whatever way it ends.
 *
 * A router holds the body back until `100 Continue`, which says "admitted"; here it is said as soon as that is true, or
 * by the actor where the client itself waits for it.
 */
export function forwardRequest(
  door: Door,
  port: number,
  incoming: IncomingMessage,
  answer: ServerResponse,
): void {
  const attempt: Attempt = { door, port, held: hasBody(incoming) && clientExpects(incoming) }
  const leave = door.enter((code) => {
    attempt.cut = code
    if (attempt.upstream !== undefined) breakOff(attempt.upstream)
  })
  answer.once('close', () => {
    if (!answer.writableFinished && attempt.upstream !== undefined) breakOff(attempt.upstream)
  })
  send(attempt, incoming, answer, leave, true)
}

function send(
  attempt: Attempt,
  incoming: IncomingMessage,
  answer: ServerResponse,
  leave: () => void,
  mayRetry: boolean,
): void {
  const upstream = requestSandbox(attempt.door, attempt.port, incoming, requestFraming(incoming))
  attempt.upstream = upstream
  let again = false
  upstream.once('response', (from) => {
    // An answer in place of `100 Continue`: the body will not be sent, so the connection cannot be used again.
    if (attempt.held) from.once('end', () => breakOff(upstream))
    relayAnswer(from, answer, { drop: GATE_HEADERS, add: attempt.held ? ['Connection', 'close'] : [] })
  })
  upstream.on('error', (error) => {
    again = mayRetry && isIdleClosed(attempt, upstream, incoming, answer)
    if (!again) answerRefusal(answer, failureOf(error, attempt.door, attempt.port, attempt.cut))
  })
  upstream.once('close', () => {
    if (again && attempt.cut === undefined) return send(attempt, incoming, answer, leave, false)
    if (again) answerRefusal(answer, failureOf(new Error('cut'), attempt.door, attempt.port, attempt.cut))
    leave()
    // The actor wants no more of a body that still comes: what is under way is thrown away.
    if (!incoming.readableEnded) incoming.resume()
  })
  sendBody(attempt, upstream, incoming, answer)
}

function sendBody(
  attempt: Attempt,
  upstream: ClientRequest,
  incoming: IncomingMessage,
  answer: ServerResponse,
): void {
  if (!hasBody(incoming)) return void upstream.end()
  if (!attempt.held) {
    if (incoming.headers.expect !== undefined) answer.writeContinue()
    return relayBody(incoming, upstream)
  }
  upstream.flushHeaders()
  upstream.once('continue', () => {
    attempt.held = false
    answer.writeContinue()
    relayBody(incoming, upstream)
  })
}

/** The actor closed an idle connection just as it was used again; sending once more cannot run anything twice. */
const isIdleClosed = (
  attempt: Attempt,
  upstream: ClientRequest,
  incoming: IncomingMessage,
  answer: ServerResponse,
): boolean =>
  upstream.reusedSocket &&
  attempt.cut === undefined &&
  !answer.headersSent &&
  !answer.destroyed &&
  (incoming.method === 'GET' || incoming.method === 'HEAD') &&
  !hasBody(incoming)
