import type { Server } from 'node:http'
import type { Socket } from 'node:net'
import type { Clock } from '@torpor/contracts'

/** What a router has open towards clients, and how it ends. */
export class OpenConnections {
  readonly #server: Server
  readonly #clock: Clock
  readonly #upgraded = new Set<Socket>()
  #draining = false

  constructor(server: Server, clock: Clock) {
    this.#server = server
    this.#clock = clock
    // A kept connection that falls idle while draining would hold the server open.
    server.on('request', (_incoming, answer) => {
      answer.once('finish', () => {
        if (this.#draining) setImmediate(() => server.closeIdleConnections())
      })
    })
  }

  get isDraining(): boolean {
    return this.#draining
  }

  /** Upgraded sockets are no longer the server's: it would not end them. */
  addUpgraded(socket: Socket): void {
    this.#upgraded.add(socket)
    socket.once('close', () => this.#upgraded.delete(socket))
  }

  /** Takes no new connection, waits up to `withinMs` for the open ones, then calls `cut` and ends the rest. */
  async drain(withinMs: number, cut: () => void): Promise<void> {
    this.#draining = true
    const closed = new Promise<void>((resolve) => this.#server.close(() => resolve()))
    const upgradedClosed = [...this.#upgraded].map(
      (socket) => new Promise<void>((resolve) => socket.once('close', () => resolve())),
    )
    const cancel = this.#clock.after(withinMs, () => {
      cut()
      this.#server.closeAllConnections()
      for (const socket of this.#upgraded) socket.destroy()
    })
    await Promise.all([closed, ...upgradedClosed])
    cancel()
    cut()
  }
}
