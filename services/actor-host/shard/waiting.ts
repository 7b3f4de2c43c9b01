import type { EntityRef, HostCommand, Outcome } from '@torpor/contracts'

/** What `read` answers: the state, and the version of its last event (0: none yet, or deleted). */
export type ReadResult = { readonly state: unknown; readonly version: number }

/** A command that waits for its decision, and then for the frame that its answer depends on. */
export type WaitingCommand = {
  readonly kind: 'command'
  /** Place in the order of acceptance. */
  readonly serial: number
  readonly key: string
  readonly command: HostCommand
  readonly resolve: (outcome: Outcome) => void
  readonly reject: (cause: Error) => void
  /** Of the last decision; if its frame was dropped and yet turns out committed, this is the answer. */
  outcome: Outcome | undefined
}

export type WaitingRead = {
  readonly kind: 'read'
  readonly serial: number
  readonly key: string
  readonly ref: EntityRef
  readonly resolve: (result: ReadResult) => void
  readonly reject: (cause: Error) => void
  result: ReadResult | undefined
}

export type Waiting = WaitingCommand | WaitingRead

/** Gives the answer that was decided. */
export function answer(waiting: Waiting): void {
  if (waiting.kind === 'command') {
    if (waiting.outcome !== undefined) waiting.resolve(waiting.outcome)
  } else if (waiting.result !== undefined) waiting.resolve(waiting.result)
}
