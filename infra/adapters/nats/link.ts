import { fault, inboxPrefix, LIMITS } from '@torpor/contracts'
import type { NatsConnection, Status } from '@nats-io/transport-node'
import { headersFromRecord } from './message-headers.ts'
import type { Answer } from './reply-inbox.ts'
import { ReplyInbox } from './reply-inbox.ts'

/** What happened to the connection, for a part's own log. */
export type BusNotice = {
  readonly kind: 'disconnected' | 'reconnected' | 'refused' | 'streamsMissing' | 'closed'
  readonly detail: string
}

/**
 * One connection to the bus and what this folder needs of it.
 * Invariants: (1) nothing is queued while the connection is down: a publish is dropped, a question ends `disconnected`;
 * (2) a question that was sent when the connection broke ends at once, it does not wait for its timeout.
 */
export class BusLink {
  readonly connection: NatsConnection
  readonly url: string
  /** Begin of every subject that this link listens on for itself. */
  readonly inbox: string
  readonly #replies: ReplyInbox
  readonly #notice: (notice: BusNotice) => void
  readonly #disconnected = new Set<() => void>()
  readonly #reconnected = new Set<() => void>()
  #up = true
  #closed = false

  constructor(
    connection: NatsConnection,
    options: { url: string; user: string; notice: (notice: BusNotice) => void },
  ) {
    this.connection = connection
    this.url = options.url
    this.inbox = inboxPrefix(options.user)
    this.#notice = options.notice
    this.#replies = new ReplyInbox(connection, this.inbox)
    void this.#watchStatus()
  }

  get connected(): boolean {
    return this.#up && !this.#closed
  }

  get closed(): boolean {
    return this.#closed
  }

  notice(kind: BusNotice['kind'], detail: string): void {
    this.#notice({ kind, detail })
  }

  ask(
    subject: string,
    data: Uint8Array | string,
    options: { readonly timeoutMs: number; readonly headers?: Readonly<Record<string, string>> | undefined },
  ): Promise<Answer> {
    if (!this.connected) return Promise.resolve({ kind: 'disconnected' })
    return this.#replies.ask(subject, data, options.timeoutMs, options.headers)
  }

  publish(
    subject: string,
    data: Uint8Array | string,
    options: { readonly reply?: string; readonly headers?: Readonly<Record<string, string>> } = {},
  ): void {
    if (!this.connected) return
    const headers = headersFromRecord(options.headers)
    this.connection.publish(subject, data, {
      ...(options.reply === undefined ? {} : { reply: options.reply }),
      ...(headers === undefined ? {} : { headers }),
    })
  }

  /** Calls when the connection breaks or is closed; the returned function ends it. */
  onDisconnect(call: () => void): () => void {
    this.#disconnected.add(call)
    return () => this.#disconnected.delete(call)
  }

  /** Calls when the connection is there again; the returned function ends it. */
  onReconnect(call: () => void): () => void {
    this.#reconnected.add(call)
    return () => this.#reconnected.delete(call)
  }

  /** Resolves when the connection is there, or the signal is aborted, or the link was closed. */
  whenConnected(signal: AbortSignal): Promise<void> {
    if (this.connected || this.#closed || signal.aborted) return Promise.resolve()
    const { promise, resolve } = Promise.withResolvers<void>()
    const ends = [this.onReconnect(resolve), this.onDisconnect(() => this.#closed && resolve())]
    signal.addEventListener('abort', () => resolve(), { once: true })
    return promise.finally(() => ends.forEach((end) => end()))
  }

  async close(): Promise<void> {
    if (this.#closed) return
    this.#closed = true
    this.#broken('closed')
    await this.connection.close()
  }

  async #watchStatus(): Promise<void> {
    for await (const status of this.connection.status()) this.#take(status)
    if (this.#closed) return
    this.#closed = true
    this.#broken('closed')
  }

  #take(status: Status): void {
    if (status.type === 'disconnect') this.#broken('disconnected')
    if (status.type === 'error') this.notice('refused', status.error.message)
    if (status.type !== 'reconnect') return
    this.#up = true
    this.notice('reconnected', this.url)
    for (const call of this.#reconnected) call()
  }

  #broken(kind: 'disconnected' | 'closed'): void {
    this.#up = false
    this.#replies.abandonAll()
    this.notice(kind, this.url)
    for (const call of this.#disconnected) call()
  }
}

/** The fault for an answer that did not come. */
export function unanswered(
  link: BusLink,
  answer: Exclude<Answer, { kind: 'answered' }>,
  what: string,
): Error {
  const why = {
    noResponders: 'nobody serves it',
    timedOut: 'no answer in time',
    disconnected: `not connected to ${link.url}`,
    full: `${LIMITS.busRequestsPendingMax} requests wait already`,
  }[answer.kind]
  return fault('BUS_UNAVAILABLE', what, { detail: why })
}
