import { Agent } from 'node:http'
import type { AgentOptions } from 'node:http'
import type { Socket } from 'node:net'
import { connect } from 'node:net'
import type { Clock } from '@torpor/contracts'
import { reset } from '@torpor/contracts/http'
import type { GateLimits } from './gate-limits.ts'

/**
 * Every TCP connection to one sandbox, from the call of connect() to the close of its file descriptor.
 *
 * A sandbox that is checkpointed with a connection open, or half open, does not serve after its restore. So closing
 * (C1) lets a connect() in flight end first, (C2) ends each connection and waits for the sandbox's own end, which
 * proves that its process let go, (C3) resets what takes too long, and (C4) resolves only after the last `close`.
 */
export class SandboxConnections {
  readonly agent: Agent
  readonly #sockets = new Set<Socket>()
  readonly #clock: Clock
  readonly #limits: GateLimits

  constructor(clock: Clock, limits: GateLimits) {
    this.#clock = clock
    this.#limits = limits
    this.agent = new TrackingAgent(
      {
        keepAlive: true,
        maxFreeSockets: limits.gateIdleConnectionsPerActorMax,
        timeout: limits.gateIdleConnectionMs,
        scheduling: 'lifo',
      },
      (host, port) => this.#open(host, port),
    )
  }

  /** Connections that exist now, those that are being opened included. */
  get count(): number {
    return this.#sockets.size
  }

  /** Resolves when every connection is fully closed. */
  async close(): Promise<void> {
    while (this.#sockets.size > 0) {
      await Promise.all([...this.#sockets].map((socket) => this.#retire(socket)))
    }
  }

  #open(host: string, port: number): Socket {
    const socket = connect({ host, port, noDelay: true, autoSelectFamily: false })
    this.#sockets.add(socket)
    socket.once('close', () => this.#sockets.delete(socket))
    const cancel = this.#clock.after(this.#limits.gateConnectTimeoutMs, () =>
      socket.destroy(Object.assign(new Error('connect timed out'), { code: 'ETIMEDOUT' })),
    )
    socket.once('connect', cancel)
    socket.once('close', cancel)
    return socket
  }

  /** (C1) to (C4) for one connection. */
  #retire(socket: Socket): Promise<void> {
    return new Promise((resolve) => {
      if (!this.#sockets.has(socket)) return resolve()
      const cancel = this.#clock.after(this.#limits.gateSocketCloseMs, () => whenConnected(socket, reset))
      socket.once('close', () => {
        cancel()
        resolve()
      })
      whenConnected(socket, end)
    })
  }
}

/** Calls at once, or when the connect() in flight has succeeded; one that fails closes by itself. */
export function whenConnected(socket: Socket, call: (socket: Socket) => void): void {
  if (socket.connecting) socket.once('connect', () => call(socket))
  else call(socket)
}

function end(socket: Socket): void {
  socket.end()
  // Closes by itself once both sides have ended, and the end of the other side is only seen by who reads.
  socket.resume()
}

class TrackingAgent extends Agent {
  readonly #open: (host: string, port: number) => Socket

  constructor(options: AgentOptions, open: (host: string, port: number) => Socket) {
    super(options)
    this.#open = open
  }

  override createConnection(options: { host?: string | null; port?: number | string | null }): Socket {
    return this.#open(options.host ?? '127.0.0.1', Number(options.port))
  }
}
