import type { Bus, Clock, EventFeed, Random } from '@torpor/contracts'

/** A connection to the bus that the one who asked for it closes. */
export type Connection = {
  readonly bus: Bus
  readonly feed: EventFeed
  /** Version of the nats-server, for people. */
  readonly serverVersion: string
  close(): Promise<void>
}

/** Everything outside of the command line's own text. `main.ts` gives the real one. */
export type World = {
  connect(server: string): Promise<Connection>
  /** Whole text, with its newlines. */
  write(text: string): void
  writeError(text: string): void
  readFile(path: string): Promise<string>
  readStandardInput(): Promise<string>
  /** Runs a program and gives what it wrote; rejects when it cannot be run or fails. */
  run(program: string, args: readonly string[]): Promise<string>
  readonly environment: Readonly<Record<string, string | undefined>>
  readonly folder: string
  readonly clock: Clock
  readonly random: Random
  /** Aborted when the user wants to stop (Ctrl-C). */
  readonly signal: AbortSignal
}
