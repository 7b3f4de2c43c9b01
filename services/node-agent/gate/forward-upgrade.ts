import type { IncomingMessage } from 'node:http'
import type { Socket } from 'node:net'
import type { ErrorCode } from '@torpor/contracts'
import { answerRefusal, answerOn, relayAnswer, reset, splice, switchProtocols } from '@torpor/contracts/http'
import type { Door } from './door.ts'
import { breakOff, GATE_HEADERS, failureOf, requestSandbox } from './sandbox-request.ts'

/** Passes an upgrade (WebSocket and others) to the sandbox; the socket is counted as one open request until it closes. */
export function forwardUpgrade(
  door: Door,
  port: number,
  incoming: IncomingMessage,
  socket: Socket,
  head: Buffer,
): void {
  const extra = ['Connection', 'Upgrade', 'Upgrade', incoming.headers.upgrade ?? '']
  const upstream = requestSandbox(door, port, incoming, extra)
  let cut: ErrorCode | undefined
  let upgraded: Socket | undefined
  const leave = door.enter((code) => {
    cut = code
    if (upgraded === undefined) return breakOff(upstream)
    reset(upgraded)
    reset(socket)
  })
  const abandon = (): void => breakOff(upstream)
  socket.once('close', abandon)
  socket.on('error', () => undefined)
  upstream.once('upgrade', (from, sandboxSocket, sandboxHead) => {
    socket.removeListener('close', abandon)
    upgraded = sandboxSocket
    sandboxSocket.once('close', leave)
    switchProtocols(from, socket)
    socket.write(sandboxHead)
    sandboxSocket.write(head)
    splice(socket, sandboxSocket)
  })
  upstream.once('response', (from) => relayAnswer(from, answerOn(incoming, socket), { drop: GATE_HEADERS }))
  upstream.on('error', (error) =>
    answerRefusal(answerOn(incoming, socket), failureOf(error, door, port, cut)),
  )
  upstream.once('close', () => {
    if (upgraded === undefined) leave()
  })
  upstream.end()
}
