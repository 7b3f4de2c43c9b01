export type BusMessage = {
  readonly subject: string
  readonly data: Uint8Array
  readonly headers: Readonly<Record<string, string>>
  /** Absent when the sender waits for no answer. */
  readonly reply?: string
}

export type Subscription = { unsubscribe(): void }

/** Requests, replies and notices on the bus. Nothing here is durable. */
export interface Bus {
  publish(subject: string, data: Uint8Array, headers?: Readonly<Record<string, string>>): void
  /** Rejects with fault `BUS_UNAVAILABLE` when nobody serves the subject (at once) or no answer comes in `timeoutMs`. */
  request(
    subject: string,
    data: Uint8Array,
    options: { readonly timeoutMs: number; readonly headers?: Readonly<Record<string, string>> },
  ): Promise<Uint8Array>
  /** Messages of one subscription are given to `handle` in order; it is not awaited. */
  subscribe(
    subject: string,
    handle: (message: BusMessage, respond: (data: Uint8Array) => void) => void,
    options?: { readonly queue?: string },
  ): Subscription
  close(): Promise<void>
}
