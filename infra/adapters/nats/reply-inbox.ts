import { LIMITS } from '@torpor/contracts'
import type { Msg, NatsConnection } from '@nats-io/transport-node'
import { createInbox } from '@nats-io/transport-node'
import { headersFromRecord } from './message-headers.ts'

/** How a question ended. Only `answered` and `noResponders` come from the server. */
export type Answer =
  | { readonly kind: 'answered'; readonly data: Uint8Array }
  | { readonly kind: 'noResponders' }
  | { readonly kind: 'timedOut' }
  | { readonly kind: 'disconnected' }
  /** Not sent: `busRequestsPendingMax` questions wait already. */
  | { readonly kind: 'full' }

type Pending = { readonly settle: (answer: Answer) => void; readonly timer: NodeJS.Timeout }

const NO_RESPONDERS = 503

/**
 * One subscription for every answer of a connection, told apart by the last token of the reply subject. The client's own
 * publish and request cost ten times as much for an append.
 */
export class ReplyInbox {
  readonly #connection: NatsConnection
  readonly #prefix: string
  readonly #pending = new Map<string, Pending>()
  #next = 0

  constructor(connection: NatsConnection, prefix: string) {
    this.#connection = connection
    this.#prefix = `${createInbox(prefix)}.`
    connection.subscribe(`${this.#prefix}*`, { callback: (error, message) => this.#take(error, message) })
  }

  ask(
    subject: string,
    data: Uint8Array | string,
    timeoutMs: number,
    headers?: Readonly<Record<string, string>>,
  ): Promise<Answer> {
    if (this.#pending.size >= LIMITS.busRequestsPendingMax) return Promise.resolve({ kind: 'full' })
    const { promise, resolve } = Promise.withResolvers<Answer>()
    const id = (this.#next++).toString(36)
    const timer = setTimeout(() => this.#settle(id, { kind: 'timedOut' }), timeoutMs)
    this.#pending.set(id, { settle: resolve, timer })
    try {
      this.#send(subject, data, this.#prefix + id, headers)
    } catch (cause) {
      clearTimeout(timer)
      this.#pending.delete(id)
      return Promise.reject(cause)
    }
    return promise
  }

  /** The connection is gone: what was asked may or may not have been done. */
  abandonAll(): void {
    for (const id of this.#pending.keys()) this.#settle(id, { kind: 'disconnected' })
  }

  #send(
    subject: string,
    data: Uint8Array | string,
    reply: string,
    record?: Readonly<Record<string, string>>,
  ) {
    const headers = headersFromRecord(record)
    this.#connection.publish(subject, data, headers === undefined ? { reply } : { reply, headers })
  }

  #take(error: Error | null, message: Msg): void {
    if (error !== null) return
    const id = message.subject.slice(this.#prefix.length)
    const nobody = message.data.length === 0 && message.headers?.code === NO_RESPONDERS
    this.#settle(id, nobody ? { kind: 'noResponders' } : { kind: 'answered', data: message.data })
  }

  #settle(id: string, answer: Answer): void {
    const pending = this.#pending.get(id)
    if (pending === undefined) return
    this.#pending.delete(id)
    clearTimeout(pending.timer)
    pending.settle(answer)
  }
}
