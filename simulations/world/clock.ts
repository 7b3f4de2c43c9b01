import type { Clock } from '@torpor/contracts'

type Timer = { readonly atMs: number; readonly serial: number; readonly call: () => void }

/** Time that moves only when the simulation moves it. */
export type SimulatedClock = Clock & {
  /** Goes to the next timer and calls it; false when there is none. */
  step(): boolean
  /** Lets `ms` go by, with everything that falls due. */
  advance(ms: number): Promise<void>
  /** Lets time go by until the condition holds. Throws when it does not within `limitMs` of simulated time. */
  runUntil(condition: () => boolean, limitMs?: number): Promise<void>
  /** Lets time go by until the promise is settled, and gives what it gives. */
  run<Result>(promise: Promise<Result>, limitMs?: number): Promise<Result>
}

const RUN_LIMIT_MS = 600_000
/** With no timer left, promises may still be at work for this many turns. */
const IDLE_TURNS_MAX = 1_000

/** A clock that begins at `startMs` since 1970. Timers of the same time are called in the order they were set. */
export function simulatedClock(startMs = 1_767_225_600_000): SimulatedClock {
  let passedMs = 0
  let serial = 0
  const timers: Timer[] = []
  const clock: SimulatedClock = {
    nowMs: () => Math.floor(startMs + passedMs),
    monotonicMs: () => passedMs,
    after(delayMs, call) {
      serial += 1
      const timer = { atMs: passedMs + Math.max(0, delayMs), serial, call }
      timers.splice(placeOf(timers, timer), 0, timer)
      return () => {
        const index = timers.indexOf(timer)
        if (index >= 0) timers.splice(index, 1)
      }
    },
    step() {
      const timer = timers.shift()
      if (timer === undefined) return false
      passedMs = Math.max(passedMs, timer.atMs)
      timer.call()
      return true
    },
    async advance(ms) {
      const untilMs = passedMs + ms
      await turn()
      for (let next = timers[0]; next !== undefined && next.atMs <= untilMs; next = timers[0]) {
        clock.step()
        await turn()
      }
      passedMs = untilMs
    },
    async runUntil(condition, limitMs = RUN_LIMIT_MS) {
      const untilMs = passedMs + limitMs
      let idleTurns = 0
      for (await turn(); !condition(); await turn()) {
        idleTurns = clock.step() ? 0 : idleTurns + 1
        if (passedMs > untilMs || idleTurns > IDLE_TURNS_MAX) {
          throw new Error(`what the simulation waits for did not come within ${limitMs} ms`)
        }
      }
    },
    async run(promise, limitMs) {
      const state = { settled: false }
      const settle = (): void => {
        state.settled = true
      }
      promise.then(settle, settle)
      await clock.runUntil(() => state.settled, limitMs)
      return promise
    },
  }
  return clock
}

/** Lets every promise that can go on do so. */
const turn = (): Promise<void> => new Promise((resolve) => void setImmediate(resolve))

function placeOf(timers: readonly Timer[], timer: Timer): number {
  let low = 0
  let high = timers.length
  while (low < high) {
    const middle = (low + high) >>> 1
    if ((timers[middle]?.atMs ?? 0) <= timer.atMs) low = middle + 1
    else high = middle
  }
  return low
}
