import type { IncomingMessage } from 'node:http'
import type { Socket } from 'node:net'
import { answerOn, answerRefusal, relayAnswer, splice, switchProtocols } from '@torpor/contracts/http'
import type { Address } from '../domain/address.ts'
import type { Route } from '../domain/route-cache.ts'
import { requestGate } from '../gate-request.ts'
import type { Exchange, RouterWorld } from './exchange.ts'
import { isGateRefusal, isUnreachable } from './gate-answers.ts'
import { gateFailed, routeExchange } from './route-exchange.ts'

/** Routes an upgrade (WebSocket and others) to its actor and joins the two sockets. */
export function serveUpgrade(
  world: RouterWorld,
  incoming: IncomingMessage,
  socket: Socket,
  head: Buffer,
  address: Address,
): void {
  const exchange: Exchange = {
    address,
    send: (route, moved) => sendUpgrade(world, exchange, incoming, socket, head, route, moved),
    refuse: (refusal, extras) => answerRefusal(answerOn(incoming, socket), refusal, extras),
    onGone: (call) => {
      socket.once('close', call)
      return () => void socket.removeListener('close', call)
    },
  }
  socket.on('error', () => undefined)
  routeExchange(world, exchange)
}

function sendUpgrade(
  world: RouterWorld,
  exchange: Exchange,
  incoming: IncomingMessage,
  socket: Socket,
  head: Buffer,
  route: Route,
  moved: () => void,
): void {
  const { address } = exchange
  if (socket.destroyed) return
  const asking = ['Connection', 'Upgrade', 'Upgrade', incoming.headers.upgrade ?? '']
  const upstream = requestGate(world.gates, incoming, address, route, asking)
  let hasMoved = false
  const onGone = (): void => void upstream.destroy()
  const move = (): void => {
    hasMoved = true
    socket.removeListener('close', onGone)
    moved()
  }
  socket.once('close', onGone)
  upstream.once('upgrade', (from, gateSocket, gateHead) => {
    socket.removeListener('close', onGone)
    switchProtocols(from, socket)
    socket.write(gateHead)
    gateSocket.write(head)
    splice(socket, gateSocket)
  })
  upstream.once('response', (from) => {
    if (!isGateRefusal(from)) return relayAnswer(from, answerOn(incoming, socket))
    from.on('error', () => undefined)
    from.resume()
    return move()
  })
  upstream.on('error', (error) => {
    if (hasMoved || socket.destroyed) return
    if (isUnreachable(error, upstream, incoming, false)) move()
    else exchange.refuse(gateFailed(address, error))
  })
  upstream.end()
}
