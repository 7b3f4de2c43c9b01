import type { DurableCommand, DurableCommands } from '@torpor/contracts'
import { STREAMS } from '@torpor/contracts'
import type { DeliveredMessage } from './delivered-message.ts'
import { followStream } from './follow-stream.ts'
import { streamState } from './jetstream-api.ts'
import type { BusLink } from './link.ts'
import { headersToRecord } from './message-headers.ts'

const NANOS_PER_MS = 1_000_000n

/** The stream COMMANDS, as the owner of a shard reads it. */
export function durableCommands(link: BusLink): DurableCommands {
  return {
    follow: (from, signal) => follow(link, from, signal),
    firstSequence: async () => (await streamState(link, STREAMS.commands)).firstSequence,
  }
}

async function* follow(link: BusLink, from: number, signal: AbortSignal): AsyncGenerator<DurableCommand> {
  const start = (last: DeliveredMessage | undefined) =>
    ({ kind: 'sequence', sequence: last === undefined ? from : last.sequence + 1 }) as const
  for await (const delivered of followStream(link, { stream: STREAMS.commands, start }, signal)) {
    const { message, sequence, timeNanos } = delivered
    yield {
      sequence,
      subject: message.subject,
      timeMs: Number(BigInt(timeNanos) / NANOS_PER_MS),
      data: message.data,
      headers: headersToRecord(message),
    }
  }
}
