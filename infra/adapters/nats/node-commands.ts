import { ALL, STREAMS } from '@torpor/contracts'
import { followStream } from './follow-stream.ts'
import { streamState } from './jetstream-api.ts'
import type { BusLink } from './link.ts'

/** A command to a node, as the stream NODE_COMMANDS captured it. */
export type CapturedNodeCommand = {
  readonly sequence: number
  readonly subject: string
  readonly data: Uint8Array
}

/**
 * Commands to `node` after `sinceSequence`, in order, without end, until the signal. The stream is in memory: where the bus
 * was restarted it counts from 1 again, and is read from its beginning.
 */
export async function* followNodeCommands(
  link: BusLink,
  node: string,
  sinceSequence: number,
  signal: AbortSignal,
): AsyncGenerator<CapturedNodeCommand> {
  const stream = STREAMS.nodeCommands
  const after = async (known: number): Promise<number> =>
    (await streamState(link, stream)).lastSequence < known ? 1 : known + 1
  const options = {
    stream,
    filter: ALL.nodeCommandsOf(node),
    start: async (last: { readonly sequence: number } | undefined) =>
      ({ kind: 'sequence', sequence: await after(last?.sequence ?? sinceSequence) }) as const,
  }
  for await (const { sequence, message } of followStream(link, options, signal))
    yield { sequence, subject: message.subject, data: message.data }
}
