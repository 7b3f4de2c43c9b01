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
 * A sandbox that is checkpointed with a connection open, or half open, does not serve after its restore. So (C1) a
 * connect() in flight ends before its socket is closed, (C2) what we close we reset: after a FIN the sandbox keeps its
 * half until its process looks, after a RST its own TCP stack has forgotten the connection, and (C3) `close` resolves
 * only after the last socket's `close`.
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
    // Before the agent closes it for being idle too long, which it does with a FIN (C2).
    socket.on('timeout', () => {
      if (this.#isIdle(socket)) reset(socket)
    })
    const cancel = this.#clock.after(this.#limits.gateConnectTimeoutMs, () =>
      socket.destroy(Object.assign(new Error('connect timed out'), { code: 'ETIMEDOUT' })),
    )
    socket.once('connect', cancel)
    socket.once('close', cancel)
    return socket
  }

  #isIdle(socket: Socket): boolean {
    return Object.values(this.agent.freeSockets).some((free) => free?.includes(socket))
  }

  /** (C1) to (C3) for one connection. */
  #retire(socket: Socket): Promise<void> {
    return new Promise((resolve) => {
      socket.once('close', () => resolve())
      whenConnected(socket, reset)
    })
  }
}

/** Calls at once, or when the connect() in flight has succeeded; one that fails closes by itself. */
export function whenConnected(socket: Socket, call: (socket: Socket) => void): void {
  if (socket.connecting) socket.once('connect', () => call(socket))
  else call(socket)
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
