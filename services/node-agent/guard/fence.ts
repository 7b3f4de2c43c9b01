/** What the guard knows of the node's lease. Times are the machine's monotonic milliseconds. */
export type FenceState = {
  /** From here on the lease counts as lost: others may think so too. */
  readonly deadlineMs: number
  readonly fenced: boolean
}

export type FenceEvent =
  /** A renewal that was sent at `sentAtMs` was granted. */
  | { readonly kind: 'granted'; readonly sentAtMs: number }
  /** The node agrees with the log again. */
  | { readonly kind: 'reconciled' }
  | { readonly kind: 'tick' }

/**
 * What follows, pure. Invariants: (1) from `fenceMs` after the sending of the last granted renewal on, the node is fenced;
 * (2) it is let go only with a lease in force and after the agent has said that it agrees with the log.
 */
export function nextFence(state: FenceState, event: FenceEvent, nowMs: number, fenceMs: number): FenceState {
  const deadlineMs =
    event.kind === 'granted' ? Math.max(state.deadlineMs, event.sentAtMs + fenceMs) : state.deadlineMs
  if (nowMs >= deadlineMs) return { deadlineMs, fenced: true }
  return { deadlineMs, fenced: state.fenced && event.kind !== 'reconciled' }
}
