/** The world around a gate in its tests: actors that are plain HTTP servers on real sockets, and clients. */
import { createHash } from 'node:crypto'
import type { Agent, IncomingMessage, RequestListener, RequestOptions, Server } from 'node:http'
import { createServer, request } from 'node:http'
import type { AddressInfo, Socket } from 'node:net'
import { text } from 'node:stream/consumers'
import type { Assignment } from '@torpor/contracts'
import { formatAssignment, systemClock } from '@torpor/contracts'
import { parseHostPort } from '@torpor/contracts/http'
import type { Gate, GateActor, GateLimits } from './gate.ts'
import { startGate } from './gate.ts'

export const anAssignment = (sequence = 1): Assignment => ({
  actorUid: '01900000-0000-7000-8000-000000000001',
  epoch: 1,
  sequence,
})

/** The sandbox side: a server on loopback that knows which connections it has. */
export type SandboxServer = {
  readonly port: number
  readonly server: Server
  readonly sockets: ReadonlySet<Socket>
  /** Connections accepted so far. */
  readonly accepted: () => number
  stop(): Promise<void>
}

export async function startSandboxServer(listener: RequestListener): Promise<SandboxServer> {
  const server = createServer(listener)
  const sockets = new Set<Socket>()
  let accepted = 0
  server.on('connection', (socket) => {
    accepted += 1
    sockets.add(socket)
    socket.on('error', () => undefined)
    socket.once('close', () => sockets.delete(socket))
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', () => resolve()))
  return {
    port: (server.address() as AddressInfo).port,
    server,
    sockets,
    accepted: () => accepted,
    stop: () =>
      new Promise((resolve) => {
        server.close(() => resolve())
        for (const socket of sockets) socket.destroy()
      }),
  }
}

/** Echoes what comes over a WebSocket-like upgrade, byte by byte. */
export function echoUpgrades(server: Server): void {
  server.on('upgrade', (incoming, socket, head) => {
    const key = createHash('sha1').update(String(incoming.headers['sec-websocket-key'])).digest('base64')
    socket.write(
      `HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Accept: ${key}\r\n\r\n`,
    )
    socket.on('error', () => undefined)
    socket.write(head)
    socket.pipe(socket)
  })
}

export const anActor = (port: number, more: Partial<GateActor> = {}): GateActor => ({
  actorUid: anAssignment().actorUid,
  atespace: 'demo',
  name: 'counter',
  assignment: anAssignment(),
  ipAddress: '127.0.0.1',
  defaultPort: port,
  ports: [port],
  ...more,
})

export const startTestGate = (limits: Partial<GateLimits> = {}): Promise<Gate> =>
  startGate({ listen: '127.0.0.1:0', clock: systemClock, limits })

export type Answer = {
  readonly status: number
  readonly body: string
  readonly message: IncomingMessage
}

export type Asking = RequestOptions & {
  readonly body?: string
  readonly assignment?: Assignment
  readonly agent?: Agent
}

/** Sends one request to `host:port`, as a router would, and reads the answer. */
export async function ask(address: string, path: string, options: Asking = {}): Promise<Answer> {
  const { body, assignment = anAssignment(), headers, ...rest } = options
  const outgoing = request({
    ...parseHostPort(address),
    path,
    ...rest,
    headers: { 'torpor-assignment': formatAssignment(assignment), ...(headers as Record<string, string>) },
  })
  return new Promise((resolve, reject) => {
    outgoing.once('response', (message) => {
      text(message).then(
        (text) => resolve({ status: message.statusCode ?? 0, body: text, message }),
        (error: unknown) => reject(error),
      )
    })
    outgoing.once('error', reject)
    outgoing.end(body)
  })
}

/** A promise and the function that fulfils it. */
export function signal<Value = void>(): {
  readonly promise: Promise<Value>
  readonly give: (value: Value) => void
} {
  const { promise, resolve } = Promise.withResolvers<Value>()
  return { promise, give: resolve }
}
