/**
 * Lets so many works run at once; the others wait in order of arrival, however long: the pool itself would take waiting in its
 * queue for a database that is away. Whoever calls bounds how many wait (the projector: one a shard).
 * @example const inTurn = atMost(2); await inTurn(() => write())
 */
export function atMost(runningMax: number): <Result>(work: () => Promise<Result>) => Promise<Result> {
  const waiting: (() => void)[] = []
  let running = 0
  return async (work) => {
    if (running >= runningMax) await new Promise<void>((resolve) => void waiting.push(resolve))
    else running += 1
    try {
      return await work()
    } finally {
      const next = waiting.shift()
      if (next === undefined) running -= 1
      else next()
    }
  }
}
