import type { ClientRequest, IncomingMessage } from 'node:http'
import { request } from 'node:http'
import type { ErrorCode, Refusal } from '@torpor/contracts'
import { refuse } from '@torpor/contracts'
import { endToEndHeaders, framingHeaders, HTTP_HEADERS, reset } from '@torpor/contracts/http'
import type { Door } from './door.ts'
import { whenConnected } from './sandbox-connections.ts'

/** Ours: an actor neither sees nor sets them. */
export const GATE_HEADERS: ReadonlySet<string> = new Set(Object.values(HTTP_HEADERS))

/** Begins the request that the sandbox gets in place of `incoming`. */
export function requestSandbox(
  door: Door,
  port: number,
  incoming: IncomingMessage,
  extra: readonly string[],
): ClientRequest {
  const headers = endToEndHeaders(incoming.rawHeaders, GATE_HEADERS)
  return request({
    agent: door.connections.agent,
    host: door.actor.ipAddress,
    port,
    method: incoming.method,
    path: incoming.url,
    headers: [...headers, ...extra],
  })
}

/** Framing of a request as the sandbox gets it; asks the actor itself for `100 Continue` where the client does. */
export const requestFraming = (incoming: IncomingMessage): string[] => [
  ...framingHeaders(incoming),
  ...(clientExpects(incoming) ? ['Expect', '100-continue'] : []),
]

export const clientExpects = (incoming: IncomingMessage): boolean =>
  incoming.headers[HTTP_HEADERS.clientExpects] !== undefined

/**
 * Breaks a request to a sandbox off, in such a way that the sandbox's own TCP stack is rid of the connection: RST, and
 * never in the middle of the handshake, which would leave it half open.
 */
export function breakOff(upstream: ClientRequest): void {
  // Done with its connection, which may serve another request by now.
  if (upstream.destroyed) return
  if (upstream.socket === null) upstream.destroy()
  else whenConnected(upstream.socket, reset)
}

/** What the client is told when a sandbox gives no answer. */
export function failureOf(error: Error, door: Door, port: number, cut: ErrorCode | undefined): Refusal {
  const { atespace, name, defaultPort } = door.actor
  const id = `${atespace}/${name}`
  if (cut !== undefined) return refuse(cut, id)
  const code = (error as NodeJS.ErrnoException).code ?? ''
  if (code.startsWith('HPE_')) return refuse('UPSTREAM_INVALID', id, error.message)
  if (code === 'ECONNREFUSED' && port !== defaultPort) {
    return refuse('UPSTREAM_INVALID', id, `nothing listens on port ${port}`)
  }
  if (code.startsWith('ERR_')) return refuse('REQUEST_MALFORMED', id, error.message)
  return refuse('ACTOR_EXITED', id, code || error.message)
}
