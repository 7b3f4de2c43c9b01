import type { AppendResult, ShardLog, StoredFrame } from '@torpor/contracts'
import { fault, LIMITS, STREAMS, SUBJECTS } from '@torpor/contracts'
import type { DeliveredMessage } from './delivered-message.ts'
import { followStream } from './follow-stream.ts'
import type { PubAck, StreamState } from './jetstream-api.ts'
import { isWrongSequence, parseAnswer, streamState } from './jetstream-api.ts'
import type { BusLink } from './link.ts'
import { unanswered } from './link.ts'

const EXPECTED_LAST_SEQUENCE = 'Nats-Expected-Last-Sequence'

/** The log of one shard in its JetStream stream. */
export function shardLog(link: BusLink, shard: number): ShardLog {
  const stream = STREAMS.log(shard)
  const subject = SUBJECTS.log(shard)
  return {
    append: (bytes, expectedLastSequence) => append(link, subject, bytes, expectedLastSequence),
    lastSequence: async () => (await logState(link, stream)).lastSequence,
    read: (from, to) => readFrames(link, stream, from, to),
    follow: (from, signal) => followFrames(link, stream, from, signal),
  }
}

async function append(
  link: BusLink,
  subject: string,
  bytes: Uint8Array,
  expectedLastSequence: number,
): Promise<AppendResult> {
  try {
    const headers = { [EXPECTED_LAST_SEQUENCE]: String(expectedLastSequence) }
    const answer = await link.ask(subject, bytes, { timeoutMs: LIMITS.appendTimeoutMs, headers })
    if (answer.kind === 'answered') return appendResult(subject, parseAnswer<PubAck>(answer.data))
    return { kind: 'ambiguous', cause: unanswered(link, answer, subject) }
  } catch (cause) {
    // Thrown before anything was sent: the connection is closed, or the frame is larger than the server takes.
    return { kind: 'refused', cause }
  }
}

function appendResult(subject: string, ack: PubAck): AppendResult {
  if (ack.error === undefined) return { kind: 'committed', sequence: ack.seq }
  if (isWrongSequence(ack.error)) return { kind: 'conflict' }
  const detail = ack.error.description ?? `code ${ack.error.code}`
  return { kind: 'refused', cause: fault('LOG_UNAVAILABLE', subject, { detail, cause: ack.error }) }
}

async function logState(link: BusLink, stream: string): Promise<StreamState> {
  try {
    return await streamState(link, stream)
  } catch (cause) {
    throw fault('LOG_UNAVAILABLE', stream, { detail: 'its leader did not tell its last sequence', cause })
  }
}

const toFrame = ({ sequence, message }: DeliveredMessage): StoredFrame => ({ sequence, bytes: message.data })

async function* followFrames(
  link: BusLink,
  stream: string,
  from: number,
  signal: AbortSignal,
): AsyncGenerator<StoredFrame> {
  const start = (last: DeliveredMessage | undefined) =>
    ({ kind: 'sequence', sequence: last === undefined ? from : last.sequence + 1 }) as const
  for await (const delivered of followStream(link, { stream, start }, signal)) yield toFrame(delivered)
}

/** Ends at `to`; at once when all of it was purged; fault LOG_UNAVAILABLE when nothing comes for `logReadStallMs`. */
async function* readFrames(
  link: BusLink,
  stream: string,
  from: number,
  to: number,
): AsyncGenerator<StoredFrame> {
  if (to < from) return
  const { firstSequence } = await logState(link, stream)
  if (firstSequence > to) return
  const stalled = new AbortController()
  const startTimer = () => setTimeout(() => stalled.abort(), LIMITS.logReadStallMs)
  let timer = startTimer()
  try {
    for await (const frame of followFrames(link, stream, from, stalled.signal)) {
      clearTimeout(timer)
      if (frame.sequence <= to) yield frame
      if (frame.sequence >= to) return
      timer = startTimer()
    }
    throw fault('LOG_UNAVAILABLE', stream, { detail: `frame ${from} to ${to}: nothing came any more` })
  } finally {
    clearTimeout(timer)
  }
}
