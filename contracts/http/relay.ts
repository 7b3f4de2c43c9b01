/**
 * What each hop (router, gate) does alike with a message that passes. Bodies stream under back-pressure and are never
 * gathered; a message that breaks off on one side breaks off on the other, so that nobody takes half for the whole.
 */
import type { ClientRequest, IncomingMessage } from 'node:http'
import { ServerResponse } from 'node:http'
import { Socket } from 'node:net'
import type { Duplex } from 'node:stream'
import type { Refusal } from '../errors.ts'
import type { ErrorExtras } from './error-answer.ts'
import { errorAnswer } from './error-answer.ts'
import { endToEndHeaders } from './headers.ts'

/** True when a body follows the head. */
export const hasBody = (message: IncomingMessage): boolean => {
  const { 'content-length': length, 'transfer-encoding': encoding } = message.headers
  return encoding !== undefined || (length !== undefined && length !== '0')
}

/** Headers that say for the next hop how the body comes and that trailers are welcome. */
export function framingHeaders(message: IncomingMessage): string[] {
  const headers: string[] = []
  if (message.headers['transfer-encoding'] !== undefined) {
    headers.push('Transfer-Encoding', 'chunked')
    const trailer = message.headers.trailer
    if (trailer !== undefined) headers.push('Trailer', trailer)
  }
  if (/\btrailers\b/i.test(String(message.headers.te ?? ''))) headers.push('TE', 'trailers')
  return headers
}

/** Sends the body of a request on, with its trailers, and ends it. */
export function relayBody(from: IncomingMessage, to: ClientRequest): void {
  from.once('end', () => {
    if (from.rawTrailers.length > 0) to.addTrailers(pairsOf(from.rawTrailers))
  })
  from.pipe(to)
}

export type AnswerChange = { readonly drop?: ReadonlySet<string>; readonly add?: readonly string[] }

/** Sends an answer on: head, body, trailers. The head goes out at once even when the body lets wait (event streams). */
export function relayAnswer(from: IncomingMessage, to: ServerResponse, change: AnswerChange = {}): void {
  const headers = endToEndHeaders(from.rawHeaders, change.drop)
  const chunked = from.headers['transfer-encoding'] !== undefined && to.req.method !== 'HEAD'
  // Node counts `Trailer` on an answer that is not chunked as an error of ours.
  if (chunked && from.headers.trailer !== undefined && to.req.httpVersion === '1.1') {
    headers.push('Trailer', from.headers.trailer, 'Transfer-Encoding', 'chunked')
  }
  to.writeHead(from.statusCode ?? 502, from.statusMessage ?? '', [...headers, ...(change.add ?? [])])
  from.once('end', () => {
    if (from.rawTrailers.length > 0) to.addTrailers(pairsOf(from.rawTrailers))
  })
  from.once('error', () => resetAnswer(to))
  from.pipe(to)
  setImmediate(() => {
    if (!from.readableDidRead && !to.writableEnded) to.flushHeaders()
  })
}

/** Answers with a refusal, as JSON. Nothing happens when an answer has begun already. */
export function answerRefusal(to: ServerResponse, refusal: Refusal, extras?: ErrorExtras): void {
  if (to.headersSent || to.destroyed) return
  const { status, headers, body } = errorAnswer(refusal, extras)
  // Whether a client that waits for `100 Continue` still sends its body is open: the next request could be that body.
  const isOpen = hasBody(to.req) && to.req.headers.expect !== undefined
  to.writeHead(status, [...headers, ...(isOpen ? ['connection', 'close'] : [])])
  to.end(to.req.method === 'HEAD' ? undefined : body)
}

/** Breaks an answer off so that the reader notices, whatever its framing is. */
export function resetAnswer(to: ServerResponse): void {
  if (to.socket === null) to.destroy()
  else reset(to.socket)
}

/** Joins two sockets until both have ended or one has failed. */
export function splice(left: Duplex, right: Duplex): void {
  left.pipe(right)
  right.pipe(left)
  endWith(left, right)
  endWith(right, left)
}

function endWith(one: Duplex, other: Duplex): void {
  one.once('error', () => reset(other))
  one.once('close', () => other.end(() => other.destroy()))
}

/**
 * Closes with RST, so that the peer's stack forgets the connection at once. A socket that was shut down for writing only
 * closes: its end is on the way, and libuv refuses to reset it (Node then never closes it).
 */
export function reset(stream: Duplex): void {
  if (stream instanceof Socket && !stream.writableEnded && !stream.destroyed) stream.resetAndDestroy()
  else stream.destroy()
}

function pairsOf(flat: readonly string[]): [string, string][] {
  const pairs: [string, string][] = []
  for (let index = 0; index + 1 < flat.length; index += 2)
    pairs.push([flat[index] ?? '', flat[index + 1] ?? ''])
  return pairs
}

/** An ordinary answer on a socket that asked for an upgrade; the socket ends with it. */
export function answerOn(incoming: IncomingMessage, socket: Socket): ServerResponse {
  const answer = new ServerResponse(incoming)
  answer.shouldKeepAlive = false
  answer.assignSocket(socket)
  answer.once('finish', () => {
    answer.detachSocket(socket)
    socket.destroySoon()
  })
  return answer
}

/** Tells the one who asked for an upgrade that it was granted. */
export function switchProtocols(from: IncomingMessage, socket: Socket): void {
  const lines = [`HTTP/1.1 101 ${from.statusMessage ?? 'Switching Protocols'}`]
  for (let index = 0; index + 1 < from.rawHeaders.length; index += 2) {
    lines.push(`${from.rawHeaders[index]}: ${from.rawHeaders[index + 1]}`)
  }
  socket.write(`${lines.join('\r\n')}\r\n\r\n`, 'latin1')
}

/** True for an upgrade that passes; `h2c` does not: clients offer it beside an ordinary request, with its body. */
export const isForeignUpgrade = (incoming: IncomingMessage): boolean =>
  !(incoming.headers.upgrade ?? '').toLowerCase().startsWith('h2c')
