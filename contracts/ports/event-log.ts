/** How an append ended. Only `committed` and `conflict` are certain. */
export type AppendResult =
  | { readonly kind: 'committed'; readonly sequence: number }
  /** The log's last sequence was another, or another append of this chain failed: this frame is not stored and never will be. */
  | { readonly kind: 'conflict' }
  /** No answer: it may be stored, may be stored later, may never be. Only a barrier tells. */
  | { readonly kind: 'ambiguous'; readonly cause: unknown }
  /** The log said that it stores nothing now (disk full, read-only, no quorum). */
  | { readonly kind: 'refused'; readonly cause: unknown }

export type StoredFrame = { readonly sequence: number; readonly bytes: Uint8Array }

/**
 * The log of one shard. Laws (`ports/laws/event-log-laws.ts`): an append is stored only if `expectedLastSequence` is the
 * log's last sequence at that moment; appends may be sent in a row with predicted sequences, a break fails every follower;
 * sequences rise by one; bytes come back as they went in, in order.
 */
export interface ShardLog {
  append(bytes: Uint8Array, expectedLastSequence: number): Promise<AppendResult>
  /** From the log's leader, never from a replica. 0 when empty. */
  lastSequence(): Promise<number>
  /** Frames `from`..`to`, both included; ends when `to` is given out. */
  read(from: number, to: number): AsyncIterable<StoredFrame>
  /** Frames from `from` on, without end, until the signal: for projections. Survives a restart of the log. */
  follow(from: number, signal: AbortSignal): AsyncIterable<StoredFrame>
}

export interface EventLog {
  readonly shards: number
  shard(shard: number): ShardLog
  /** Derived event stream: sent right after the commit, off the commit path, never waited for. */
  publishEvent(subject: string, line: string): void
}
