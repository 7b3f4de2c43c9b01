import type { Clock } from '@torpor/contracts'

/** A process of the simulation: it can be stopped in the middle (as SIGSTOP does) and go on later, when time has gone by. */
export type SimulatedProcess = {
  /** The clock as this process sees it: while it is stopped, nothing is called. */
  readonly clock: Clock
  /** A result from outside: it reaches the process only while it runs. */
  gate<Result>(result: Promise<Result>): Promise<Result>
  pause(): void
  resume(): void
  /** The process is gone: nothing reaches it any more. */
  kill(): void
}

export function simulatedProcess(clock: Clock): SimulatedProcess {
  let state: 'running' | 'paused' | 'killed' = 'running'
  let held: (() => void)[] = []
  const pass = (call: () => void): void => {
    if (state === 'running') call()
    else if (state === 'paused') held.push(call)
  }
  return {
    clock: {
      nowMs: () => clock.nowMs(),
      monotonicMs: () => clock.monotonicMs(),
      after(delayMs, call) {
        const asked = { isCancelled: false }
        const cancel = clock.after(delayMs, () => pass(() => !asked.isCancelled && call()))
        return () => {
          asked.isCancelled = true
          cancel()
        }
      },
    },
    gate: (result) =>
      new Promise((resolve, reject) => {
        result.then(
          (value) => pass(() => resolve(value)),
          (cause: unknown) => pass(() => reject(cause)),
        )
      }),
    pause() {
      if (state === 'running') state = 'paused'
    },
    resume() {
      if (state !== 'paused') return
      state = 'running'
      const calls = held
      held = []
      for (const call of calls) pass(call)
    },
    kill() {
      state = 'killed'
      held = []
    },
  }
}
