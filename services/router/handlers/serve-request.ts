import type { ClientRequest, IncomingMessage, ServerResponse } from 'node:http'
import type { Clock } from '@torpor/contracts'
import { refuse } from '@torpor/contracts'
import { answerRefusal, hasBody, relayAnswer, relayBody } from '@torpor/contracts/http'
import type { Address } from '../domain/address.ts'
import type { Route } from '../domain/route-cache.ts'
import { bodyHeaders, requestGate } from '../gate-request.ts'
import type { Exchange, RouterWorld } from './exchange.ts'
import { isGateRefusal, isUnreachable } from './gate-answers.ts'
import { gateFailed, routeExchange } from './route-exchange.ts'

/** Routes one request to its actor, and its answer back. */
export function serveRequest(
  world: RouterWorld,
  incoming: IncomingMessage,
  answer: ServerResponse,
  address: Address,
): void {
  const exchange: Exchange = {
    address,
    send: (route, moved) => sendRequest(world, address, incoming, answer, route, moved),
    refuse: (refusal, extras) => answerRefusal(answer, refusal, extras),
    onGone: (call) => {
      answer.once('close', call)
      return () => void answer.removeListener('close', call)
    },
  }
  routeExchange(world, exchange)
}

function sendRequest(
  world: RouterWorld,
  address: Address,
  incoming: IncomingMessage,
  answer: ServerResponse,
  route: Route,
  moved: () => void,
): void {
  if (answer.destroyed) return
  const upstream = requestGate(world.gates, incoming, address, route, bodyHeaders(incoming))
  const timer = startRouteTimer(world.clock, world.routeTimeoutMs, upstream)
  let isHeld = hasBody(incoming)
  let hasMoved = false
  const onGone = (): void => {
    if (!answer.writableFinished) upstream.destroy()
  }
  const move = (): void => {
    hasMoved = true
    answer.removeListener('close', onGone)
    moved()
  }
  answer.once('close', onGone)
  upstream.once('response', (from) => {
    timer.cancel()
    if (isGateRefusal(from)) {
      discard(from, upstream, isHeld)
      return move()
    }
    if (isHeld) from.once('end', () => upstream.destroy())
    const leftOpen = isHeld && incoming.headers.expect !== undefined
    return relayAnswer(from, answer, leftOpen ? { add: ['Connection', 'close'] } : {})
  })
  upstream.on('error', (error) => {
    timer.cancel()
    if (hasMoved || answer.destroyed) return
    if (timer.isOver()) return answerRefusal(answer, refuse('ROUTE_TIMEOUT', address.key))
    if (isUnreachable(error, upstream, incoming, isHeld)) return move()
    return answerRefusal(answer, gateFailed(address, error))
  })
  upstream.once('close', () => {
    timer.cancel()
    // The actor wants no more of a body that still comes: what is under way is thrown away.
    if (!isHeld && !incoming.readableEnded) incoming.resume()
  })
  if (!isHeld) return void upstream.end()
  upstream.flushHeaders()
  upstream.once('continue', () => {
    isHeld = false
    timer.cancel()
    if (incoming.headers.expect !== undefined) answer.writeContinue()
    // How long a body takes is the client's affair; the actor's time begins when it has everything.
    incoming.once('end', timer.restart)
    relayBody(incoming, upstream)
  })
}

/** A gate's refusal: read away, so that the connection serves on, unless a body would have to follow. */
function discard(from: IncomingMessage, upstream: ClientRequest, isHeld: boolean): void {
  from.on('error', () => undefined)
  if (isHeld) upstream.destroy()
  else from.resume()
}

type RouteTimer = { cancel: () => void; restart: () => void; isOver: () => boolean }

/** How long an actor may take to begin its answer. */
function startRouteTimer(clock: Clock, timeoutMs: number, upstream: ClientRequest): RouteTimer {
  let isOver = false
  let answered = false
  let cancelTimer = (): void => undefined
  const start = (): void => {
    if (answered) return
    cancelTimer = clock.after(timeoutMs, () => {
      isOver = true
      upstream.destroy(new Error('route timeout'))
    })
  }
  upstream.once('response', () => (answered = true))
  upstream.once('close', () => (answered = true))
  start()
  return { cancel: () => cancelTimer(), restart: start, isOver: () => isOver }
}
