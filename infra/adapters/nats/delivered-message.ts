import type { Msg } from '@nats-io/transport-node'

/** A message as a stream's reader gets it. */
export type DeliveredMessage = {
  readonly message: Msg
  readonly sequence: number
  /** +1 with each message of one reader: a gap means that something was lost on the way. */
  readonly readerSequence: number
  /** When the stream took it, in nanoseconds since 1970; with `sequence` it tells one message from all others. */
  readonly timeNanos: string
}

const SHORT_FORM_TOKENS = 9

/**
 * Reads position and time off the reply subject:
 * `$JS.ACK.<stream>.<consumer>.<delivered>.<sequence>.<reader sequence>.<time>.<pending>`, or the same with domain and
 * account before the stream. Undefined when the message came from no stream.
 */
export function parseDelivered(message: Msg): DeliveredMessage | undefined {
  const tokens = message.reply?.split('.') ?? []
  if (tokens[0] !== '$JS' || tokens[1] !== 'ACK') return undefined
  const stream = tokens.length === SHORT_FORM_TOKENS ? 2 : 4
  const [, , , sequence, readerSequence, timeNanos] = tokens.slice(stream)
  if (sequence === undefined || readerSequence === undefined || timeNanos === undefined) return undefined
  return {
    message,
    sequence: Number(sequence),
    readerSequence: Number(readerSequence),
    timeNanos,
  }
}
