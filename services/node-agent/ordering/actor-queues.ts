/** Operations of one actor run one after another, in the order they came; those of different actors side by side. */
export interface ActorQueues {
  /** For what a command asks for: undefined when too many of this actor wait already. */
  offer<Result>(actorUid: string, operation: () => Promise<Result>): Promise<Result> | undefined
  /** For what follows from an operation that was let in: it always finds room. */
  run<Result>(actorUid: string, operation: () => Promise<Result>): Promise<Result>
  /** Resolves when nothing runs or waits. */
  idle(): Promise<void>
}

/** `onFailure` hears of every operation that rejected; who awaits it hears of it too. */
export function createActorQueues(
  waitingMax: number,
  onFailure: (actorUid: string, error: unknown) => void,
): ActorQueues {
  const queues = new Map<string, { tail: Promise<unknown>; waiting: number }>()
  const run = <Result>(actorUid: string, operation: () => Promise<Result>): Promise<Result> => {
    const queue = queues.get(actorUid) ?? { tail: Promise.resolve(), waiting: 0 }
    queue.waiting += 1
    queues.set(actorUid, queue)
    const result = queue.tail.then(operation)
    const settle = (): void => {
      queue.waiting -= 1
      if (queue.waiting === 0) queues.delete(actorUid)
    }
    queue.tail = result.then(settle, (error: unknown) => {
      settle()
      onFailure(actorUid, error)
    })
    return result
  }
  return {
    run,
    offer: (actorUid, operation) =>
      (queues.get(actorUid)?.waiting ?? 0) >= waitingMax ? undefined : run(actorUid, operation),
    async idle() {
      while (queues.size > 0) await Promise.all([...queues.values()].map(({ tail }) => tail))
    },
  }
}
