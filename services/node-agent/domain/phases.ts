/** A stretch of monotonic time, in milliseconds. */
export type Span = { readonly fromMs: number; readonly toMs: number }

export const NO_SPAN: Span = { fromMs: 0, toMs: 0 }

export type StartMarks = {
  readonly receivedMs: number
  /** The assignment is on disk and the actor's turn has come. */
  readonly begunMs: number
  readonly fetch: Span
  readonly verify: Span
  readonly placedMs: number
  readonly restoreFromMs: number
  readonly restoreToMs: number
  readonly probedMs: number
  readonly openedMs: number
}

/**
 * Where the time from Go to the open gate went. What the Prepare before it had done already costs nothing here, so the
 * phases sum up to `total` exactly.
 */
export function startPhases(marks: StartMarks): Record<string, number> {
  const waited: Span = { fromMs: marks.begunMs, toMs: marks.placedMs }
  const fetch = overlapMs(marks.fetch, waited)
  const verify = overlapMs(marks.verify, waited)
  return {
    admit: marks.begunMs - marks.receivedMs,
    fetch,
    verify,
    prepare: marks.placedMs - marks.begunMs - fetch - verify,
    queue: marks.restoreFromMs - marks.placedMs,
    restore: marks.restoreToMs - marks.restoreFromMs,
    probe: marks.probedMs - marks.restoreToMs,
    open: marks.openedMs - marks.probedMs,
    total: marks.openedMs - marks.receivedMs,
  }
}

const overlapMs = (a: Span, b: Span): number =>
  Math.max(0, Math.min(a.toMs, b.toMs) - Math.max(a.fromMs, b.fromMs))
