import type { Assignment, DrainMode } from '@torpor/contracts'

/** The only party of a node that connects to a sandbox: it forwards what routers send, and counts it. */
export interface Gate {
  readonly address: string
  open(actor: {
    readonly actorUid: string
    readonly atespace: string
    readonly name: string
    readonly assignment: Assignment
    readonly ipAddress: string
    readonly defaultPort: number
    readonly ports: readonly number[]
  }): void
  /** New requests get 421 from the call on; resolves when none is open nor being opened and every upstream connection is closed. */
  close(
    actorUid: string,
    options: { readonly drain: DrainMode; readonly drainMs: number },
  ): Promise<
    { readonly kind: 'drained'; readonly cut: number } | { readonly kind: 'refused'; readonly open: number }
  >
  /** A checkpoint was abandoned: serve again. */
  reopen(actorUid: string): void
  /** Forget the actor, cutting what is open. */
  remove(actorUid: string): void
  openCount(actorUid: string): number
  idleMs(actorUid: string): number
  stop(): Promise<void>
}
