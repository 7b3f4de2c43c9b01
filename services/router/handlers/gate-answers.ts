import type { ClientRequest, IncomingMessage } from 'node:http'
import { HTTP_HEADERS } from '@torpor/contracts/http'

/** The gate's own 421: the actor does not run there (any more). An actor's 421 carries no such header. */
export const isGateRefusal = (from: IncomingMessage): boolean =>
  from.statusCode === 421 && from.headers[HTTP_HEADERS.error] === 'ASSIGNMENT_STALE'

const NOT_REACHED: ReadonlySet<string> = new Set([
  'ECONNREFUSED',
  'EHOSTUNREACH',
  'ENETUNREACH',
  'ETIMEDOUT',
  'ENOTFOUND',
  'EAI_AGAIN',
])

const ONLY_READS: ReadonlySet<string> = new Set(['GET', 'HEAD', 'OPTIONS'])

/**
 * Whether a request may be sent again because it certainly did nothing at the actor: the gate was not reached, or it had
 * not yet admitted a request whose body it would have had to ask for, or a kept connection broke when it was used again
 * and the method only reads. Where the client itself waits for `100 Continue`, the actor has seen the head.
 */
export function isUnreachable(
  error: Error,
  upstream: ClientRequest,
  incoming: IncomingMessage,
  isHeld: boolean,
): boolean {
  const code = (error as NodeJS.ErrnoException).code ?? ''
  if (!upstream.reusedSocket && NOT_REACHED.has(code)) return true
  if (isHeld && incoming.headers.expect === undefined) return true
  return upstream.reusedSocket && ONLY_READS.has(incoming.method ?? '')
}
