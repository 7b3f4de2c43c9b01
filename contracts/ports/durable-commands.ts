/** A message of the stream COMMANDS: the durable door. */
export type DurableCommand = {
  readonly sequence: number
  readonly subject: string
  readonly timeMs: number
  readonly data: Uint8Array
  readonly headers: Readonly<Record<string, string>>
}

export interface DurableCommands {
  /** Commands from `from` on, in order, without end, until the signal. Survives a restart of the bus. */
  follow(from: number, signal: AbortSignal): AsyncIterable<DurableCommand>
  /** First sequence that the stream still has. */
  firstSequence(): Promise<number>
}
