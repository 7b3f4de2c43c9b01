import type { ProcessIdentity } from './process-identity.ts'

/** How a part shows that it serves. */
export type ReadyWhen =
  /** A line `READY <part> <address>` on standard output: what the parts of this repository print. */
  | { readonly kind: 'ready-line' }
  /** A line, of standard output or error, that matches. */
  | { readonly kind: 'line'; readonly pattern: RegExp; readonly address: string }
  /** Something accepts a TCP connection. */
  | { readonly kind: 'tcp'; readonly host: string; readonly port: number }
  /** An HTTP GET is answered with a status below 500. */
  | { readonly kind: 'http'; readonly url: string }

/** One process that the supervisor keeps. */
export type PartDefinition = {
  readonly name: string
  readonly command: string
  readonly args: readonly string[]
  readonly env?: Readonly<Record<string, string | undefined>>
  readonly cwd?: string
  readonly readyWhen: ReadyWhen
  /** Start it again after an end that nobody asked for (default: true). */
  readonly restart?: boolean
  /** Its whole process group goes with it. Not for the node agent: its sandboxes outlive it. */
  readonly endsGroup?: boolean
  /** What asks it to end (default SIGTERM). */
  readonly stopSignal?: NodeJS.Signals
  readonly readyMsMax?: number
  readonly stopMsMax?: number
}

export type PartState = 'starting' | 'ready' | 'waiting' | 'stopping' | 'stopped' | 'failed'

export type PartEvent =
  | {
      readonly kind: 'started'
      readonly part: string
      readonly process: ProcessIdentity
      readonly start: number
    }
  | { readonly kind: 'ready'; readonly part: string; readonly address: string; readonly afterMs: number }
  | { readonly kind: 'not-ready'; readonly part: string; readonly reason: string }
  | { readonly kind: 'exited'; readonly part: string; readonly reason: string }
  | { readonly kind: 'restarting'; readonly part: string; readonly inMs: number; readonly attempt: number }
  | { readonly kind: 'gave-up'; readonly part: string; readonly attempts: number }
  | { readonly kind: 'stopped'; readonly part: string; readonly killed: boolean }

/** A part that did not come up; `log` is where to look. */
export class PartNotReady extends Error {
  readonly part: string
  readonly log: string

  constructor(part: string, reason: string, log: string) {
    super(`${part} did not come up: ${reason}; see ${log}`)
    this.name = 'PartNotReady'
    this.part = part
    this.log = log
  }
}
