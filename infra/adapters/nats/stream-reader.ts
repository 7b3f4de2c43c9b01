import { LIMITS } from '@torpor/contracts'
import type { Msg, Subscription } from '@nats-io/transport-node'
import { createInbox, nuid } from '@nats-io/transport-node'
import type { DeliveredMessage } from './delivered-message.ts'
import { parseDelivered } from './delivered-message.ts'
import { askJetStream } from './jetstream-api.ts'
import type { BusLink } from './link.ts'

/** Where a reader begins. */
export type ReadStart =
  | { readonly kind: 'sequence'; readonly sequence: number }
  /** The newest message of every subject, then what comes. */
  | { readonly kind: 'newestOfEach' }

export type ReaderOptions = { readonly stream: string; readonly filter?: string; readonly start: ReadStart }

const NANOS_PER_MS = 1_000_000
const HEARTBEAT = 100
/** These end one pull, not the reader: nothing there, expired, batch complete. */
const PULL_ENDED = new Set([404, 408])
const PULL_ENDED_409 = /batch completed|exceeded|exceeds/i

/**
 * Reads a stream in order through one short-lived consumer of the server.
 * Invariants: (1) messages come in order, without a gap; at the first doubt the reader ends and the caller opens another
 * where this one stopped; (2) at most `streamPullMessages` and half as many again wait here.
 */
export class StreamReader {
  /** Messages that the stream held for this reader when it was opened. */
  readonly waiting: number
  readonly #link: BusLink
  readonly #options: ReaderOptions
  readonly #name: string
  readonly #subscription: Subscription
  readonly #stopListening: () => void
  readonly #silence: NodeJS.Timeout
  readonly #queue: DeliveredMessage[] = []
  #asked = 0
  #read = 0
  #ended = false
  #wake: () => void = () => undefined

  /** Fault BUS_UNAVAILABLE when the stream is not there or does not answer. */
  static async open(link: BusLink, options: ReaderOptions): Promise<StreamReader> {
    const name = `reader-${nuid.next()}`
    const waiting = await createConsumer(link, name, options)
    return new StreamReader(link, options, name, waiting)
  }

  private constructor(link: BusLink, options: ReaderOptions, name: string, waiting: number) {
    this.#link = link
    this.#options = options
    this.#name = name
    this.waiting = waiting
    this.#silence = setTimeout(() => this.#heardNothing(), LIMITS.streamSilenceMsMax)
    this.#stopListening = link.onDisconnect(() => this.close())
    this.#subscription = link.connection.subscribe(createInbox(link.inbox), {
      callback: (error, message) => (error === null ? this.#take(message) : this.close()),
    })
    if (!link.connected) this.close()
  }

  /** The next message; undefined when this reader is over, which says nothing about the stream. */
  async next(): Promise<DeliveredMessage | undefined> {
    for (;;) {
      this.#pull()
      const message = this.#queue.shift()
      if (message !== undefined) return message
      if (this.#ended) return undefined
      const { promise, resolve } = Promise.withResolvers<void>()
      this.#wake = resolve
      await promise
    }
  }

  close(): void {
    if (this.#ended) return
    this.#ended = true
    clearTimeout(this.#silence)
    this.#stopListening()
    this.#subscription.unsubscribe()
    this.#link.publish(`$JS.API.CONSUMER.DELETE.${this.#options.stream}.${this.#name}`, '')
    this.#wake()
  }

  /** One pull at a time; the next goes out while half a batch still waits here. */
  #pull(): void {
    if (this.#ended || this.#asked > 0 || this.#queue.length > LIMITS.streamPullMessages / 2) return
    this.#asked = LIMITS.streamPullMessages
    this.#silence.refresh()
    const request = JSON.stringify({
      batch: this.#asked,
      expires: LIMITS.streamPullExpiresMs * NANOS_PER_MS,
      idle_heartbeat: LIMITS.streamHeartbeatMs * NANOS_PER_MS,
    })
    const subject = `$JS.API.CONSUMER.MSG.NEXT.${this.#options.stream}.${this.#name}`
    this.#link.publish(subject, request, { reply: this.#subscription.getSubject() })
  }

  #take(message: Msg): void {
    this.#silence.refresh()
    const delivered = parseDelivered(message)
    if (delivered === undefined) return this.#takeStatus(message)
    if (delivered.readerSequence !== this.#read + 1) return this.close()
    this.#read += 1
    this.#asked = Math.max(0, this.#asked - 1)
    this.#queue.push(delivered)
    this.#wake()
  }

  #takeStatus(message: Msg): void {
    const code = message.headers?.code
    if (code === HEARTBEAT) return
    const pullOver =
      PULL_ENDED.has(code ?? 0) || (code === 409 && PULL_ENDED_409.test(message.headers?.description ?? ''))
    if (!pullOver) return this.close()
    this.#asked = 0
    this.#wake()
  }

  #heardNothing(): void {
    // With no pull open the server has nothing to say: this reader is waiting for its caller, not for the server.
    if (this.#asked > 0) this.close()
  }
}

type ConsumerReply = { readonly num_pending: number }

async function createConsumer(link: BusLink, name: string, options: ReaderOptions): Promise<number> {
  const { stream, filter, start } = options
  const config = {
    name,
    ack_policy: 'none',
    replay_policy: 'instant',
    inactive_threshold: LIMITS.streamReaderIdleMs * NANOS_PER_MS,
    mem_storage: true,
    num_replicas: 1,
    ...(filter === undefined ? {} : { filter_subject: filter }),
    ...deliverPolicy(start),
  }
  const verb = `CONSUMER.CREATE.${stream}.${name}${filter === undefined ? '' : `.${filter}`}`
  const body = { stream_name: stream, config, action: 'create' }
  return (await askJetStream<ConsumerReply>(link, verb, body)).num_pending
}

function deliverPolicy(start: ReadStart) {
  if (start.kind === 'newestOfEach') return { deliver_policy: 'last_per_subject' }
  if (start.sequence <= 1) return { deliver_policy: 'all' }
  return { deliver_policy: 'by_start_sequence', opt_start_seq: start.sequence }
}
