/** A message of the derived event stream EVENTS. */
export type FeedEvent = { readonly sequence: number; readonly subject: string; readonly line: string }

/** The event stream for people: at least once, in order per actor. Never something to decide on. */
export interface EventFeed {
  /**
   * Events whose subject matches `filter` (`ALL.events`, or one of `SUBJECTS.event`), from the start of the stream or from now on,
   * until the signal; with `untilCaughtUp` it ends at the event that was last when it began.
   */
  follow(
    filter: string,
    options: {
      readonly from: 'start' | 'now'
      readonly untilCaughtUp?: boolean
      readonly signal: AbortSignal
    },
  ): AsyncIterable<FeedEvent>
}
