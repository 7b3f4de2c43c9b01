import type { IncomingMessage, ServerResponse } from 'node:http'
import { createServer } from 'node:http'
import type { Socket } from 'node:net'
import type { Refusal } from '@torpor/contracts'
import type { HostPort } from '@torpor/contracts/http'
import {
  answerOn,
  answerRefusal,
  formatHostPort,
  HTTP_HEADERS,
  isForeignUpgrade,
} from '@torpor/contracts/http'
import type { Door } from './door.ts'
import { forwardRequest } from './forward-request.ts'
import { forwardUpgrade } from './forward-upgrade.ts'
import type { GateLimits } from './gate-limits.ts'
import { ROUTER_HEADER_BYTES_MAX } from './gate-limits.ts'

/** Whether, and to which sandbox and port, a request may pass. */
export type Admission = { readonly door: Door; readonly port: number } | Refusal

export type GateServer = { readonly address: string; stop(): Promise<void> }

/** The listener of a gate: asks `admit` for each request before it looks at a body, and lets `knock` answer knocks. */
export async function listenOn(
  at: HostPort,
  limits: GateLimits,
  admit: (incoming: IncomingMessage) => Admission,
  knock: (incoming: IncomingMessage, answer: ServerResponse) => void,
): Promise<GateServer> {
  const server = createServer({
    maxHeaderSize: limits.requestHeaderBytesMax + ROUTER_HEADER_BYTES_MAX,
    headersTimeout: limits.requestHeadTimeoutMs,
    // Bodies may take as long as they take: what is slow is for client and actor to decide.
    requestTimeout: 0,
    keepAliveTimeout: limits.serverKeepAliveMs,
    shouldUpgradeCallback: isForeignUpgrade,
  })
  const serve = (incoming: IncomingMessage, answer: ServerResponse): void => {
    if (incoming.headers[HTTP_HEADERS.knock] !== undefined) return knock(incoming, answer)
    const admission = admit(incoming)
    if ('code' in admission) answerRefusal(answer, admission)
    else forwardRequest(admission.door, admission.port, incoming, answer)
  }
  server.on('request', serve)
  server.on('checkContinue', serve)
  server.on('upgrade', (incoming, socket, head) => {
    const admission = admit(incoming)
    if ('code' in admission) answerRefusal(answerOn(incoming, socket as Socket), admission)
    else forwardUpgrade(admission.door, admission.port, incoming, socket as Socket, head)
  })
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject)
    server.listen(at.port, at.host, () => resolve())
  })
  const bound = server.address()
  const port = typeof bound === 'object' && bound !== null ? bound.port : at.port
  return {
    address: formatHostPort({ host: at.host, port }),
    stop: () =>
      new Promise((resolve) => {
        server.close(() => resolve())
        server.closeAllConnections()
      }),
  }
}
