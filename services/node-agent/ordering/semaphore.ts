/** Lets at most `permits` through at once; the others wait in order. */
export interface Semaphore {
  /** Resolves with the function that gives the permit back. */
  acquire(): Promise<() => void>
  run<Result>(work: () => Promise<Result>): Promise<Result>
}

export function createSemaphore(permits: number): Semaphore {
  let free = permits
  const waiting: (() => void)[] = []
  const release = (): void => {
    const next = waiting.shift()
    if (next === undefined) free += 1
    else next()
  }
  const once = (): (() => void) => {
    let given = false
    return () => {
      if (!given) release()
      given = true
    }
  }
  const acquire = async (): Promise<() => void> => {
    if (free > 0) free -= 1
    else await new Promise<void>((resolve) => waiting.push(resolve))
    return once()
  }
  return {
    acquire,
    async run(work) {
      const giveBack = await acquire()
      try {
        return await work()
      } finally {
        giveBack()
      }
    },
  }
}
