import type { IncomingMessage, ServerResponse } from 'node:http'
import { refuse } from '@torpor/contracts'
import { answerRefusal } from '@torpor/contracts/http'

/** What a router says of itself. */
export type RouterHealth = { readonly status: 'ok' | 'draining'; readonly parked: number }

/** Answers what is sent to the router itself and not to an actor: `GET /torpor/healthz`. */
export function serveOwn(incoming: IncomingMessage, answer: ServerResponse, health: RouterHealth): void {
  if (incoming.method !== 'GET' || incoming.url !== '/torpor/healthz') {
    return answerRefusal(answer, refuse('ADDRESS_INVALID', JSON.stringify(incoming.headers.host ?? '')))
  }
  const body = `${JSON.stringify(health)}\n`
  answer.writeHead(health.status === 'ok' ? 200 : 503, ['content-type', 'application/json'])
  answer.end(body)
}
