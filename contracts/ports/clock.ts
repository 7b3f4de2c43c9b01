/** Time as an argument. The simulated clock obeys the same laws: `nowMs` never goes back, timers fire in order of time. */
export interface Clock {
  /** Wall time in milliseconds since 1970. */
  nowMs(): number
  /** Monotonic milliseconds, for durations. */
  monotonicMs(): number
  /** Calls once after `delayMs`; the returned function takes it back. */
  after(delayMs: number, call: () => void): () => void
}

/** The clock of the machine. Timers do not keep a process alive. */
export const systemClock: Clock = {
  nowMs: () => Date.now(),
  monotonicMs: () => performance.now(),
  after(delayMs, call) {
    const timer = setTimeout(call, Math.min(delayMs, 2 ** 31 - 1))
    timer.unref()
    return () => clearTimeout(timer)
  },
}

/** Resolves after `delayMs` of `clock`. */
export const sleep = (clock: Clock, delayMs: number): Promise<void> =>
  new Promise((resolve) => void clock.after(delayMs, resolve))
