import type { Outcome } from '@torpor/contracts'
import { isUuidV7, timeOfUuidV7 } from '@torpor/contracts'
import { createFifo } from './fifo.ts'

/** What became of a command, and the frame that its answer depends on. */
export type Remembered = {
  readonly digest: string
  outcome: Outcome
  readonly timeMs: number
  readonly frame: number
}

export type WindowLimits = {
  readonly idempotencyWindowMs: number
  readonly idempotencyEntriesMax: number
  readonly clockSkewMsMax: number
}

/**
 * Command id → outcome, for a while.
 *
 * 1. An id that is in the window is never decided again.
 * 2. An id that may have been in the window and left it is *too old*: what became of it is not known any more. The time in the
 *    id tells, with the bound on clocks that differ in between.
 * 3. What a frame that was dropped put in is taken out again.
 */
export type IdempotencyWindow = {
  find(id: string): Remembered | undefined
  remember(id: string, remembered: Remembered): void
  /** The outcome as it is known better by now. */
  amend(id: string, outcome: Outcome): void
  forget(id: string): void
  /** The time in the id is so far back that invariant 2 holds for it. */
  isTooOld(id: string, nowMs: number): boolean
  /** The time in the id is ahead by more than clocks may differ, so that invariant 2 would not hold later. */
  isFromTheFuture(id: string, nowMs: number): boolean
  readonly size: number
}

export function createIdempotencyWindow(limits: WindowLimits): IdempotencyWindow {
  const entries = new Map<string, Remembered>()
  const order = createFifo<{ readonly id: string; readonly entry: Remembered }>()
  const keepMs = limits.idempotencyWindowMs + limits.clockSkewMsMax
  let leftAtMs = 0

  const expire = (nowMs: number): void => {
    for (let first = order.peek(); first !== undefined; first = order.peek()) {
      const isOver = first.entry.timeMs + keepMs < nowMs
      if (!isOver && order.size <= limits.idempotencyEntriesMax) return
      order.shift()
      if (entries.get(first.id) !== first.entry) continue
      entries.delete(first.id)
      leftAtMs = Math.max(leftAtMs, first.entry.timeMs)
    }
  }

  return {
    find: (id) => entries.get(id),
    remember(id, entry) {
      entries.set(id, entry)
      order.push({ id, entry })
      expire(entry.timeMs)
    },
    amend(id, outcome) {
      const entry = entries.get(id)
      if (entry !== undefined) entry.outcome = outcome
    },
    forget: (id) => void entries.delete(id),
    isTooOld: (id, nowMs) =>
      isUuidV7(id) &&
      timeOfUuidV7(id) < Math.max(nowMs - limits.idempotencyWindowMs, leftAtMs + limits.clockSkewMsMax),
    isFromTheFuture: (id, nowMs) => isUuidV7(id) && timeOfUuidV7(id) > nowMs + limits.clockSkewMsMax,
    get size() {
      return entries.size
    },
  }
}
