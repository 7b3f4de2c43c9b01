import type { ActorHost, Commit } from '@torpor/actor-host'
import type { Clock, EntityRef } from '@torpor/contracts'
import { entityKey } from '@torpor/contracts'

type Waiter = (commit: Commit) => void

/** Lets a handler wait for what the log says next of one entity. */
export type CommitWatch = {
  /**
   * Resolves with the first value that `settle` gives: at once for the committed state, later for each commit of the entity;
   * undefined when `timeoutMs` passes or the shard goes to another owner.
   */
  until<Result>(
    ref: EntityRef,
    timeoutMs: number,
    settle: (state: unknown, commit: Commit | undefined) => Result | undefined,
  ): Promise<Result | undefined>
}

export function watchCommits(host: ActorHost, clock: Clock): CommitWatch {
  const waiters = new Map<string, Set<Waiter>>()
  const abandonByShard = new Map<number, Set<() => void>>()
  host.onCommitted((commit) => {
    for (const waiter of waiters.get(entityKey(commit.ref)) ?? []) waiter(commit)
  })
  host.onLost((shard) => {
    for (const abandon of abandonByShard.get(shard) ?? []) abandon()
  })
  // Of another owner's entity nothing is known here, which is not the same as that there is none.
  const isOurs = (ref: EntityRef): boolean => host.owns(host.shardOf(ref))
  return {
    until: (ref, timeoutMs, settle) =>
      new Promise((resolve) => {
        if (!isOurs(ref)) return resolve(undefined)
        const known = settle(host.peek(ref), undefined)
        if (known !== undefined) return resolve(known)
        const key = entityKey(ref)
        const abandoned = setOf(abandonByShard, host.shardOf(ref))
        const end = (result: Parameters<typeof resolve>[0]) => {
          cancel()
          abandoned.delete(abandon)
          removeFrom(waiters, key, waiter)
          resolve(result)
        }
        const abandon = () => end(undefined)
        // What is decided together is seen together: the state is that after the last event of the frame.
        const waiter: Waiter = (commit) =>
          queueMicrotask(() => {
            const result = isOurs(ref) ? settle(host.peek(ref), commit) : undefined
            if (result !== undefined) end(result)
          })
        const cancel = clock.after(timeoutMs, abandon)
        abandoned.add(abandon)
        setOf(waiters, key).add(waiter)
      }),
  }
}

function setOf<Key, Value>(map: Map<Key, Set<Value>>, key: Key): Set<Value> {
  const found = map.get(key) ?? new Set<Value>()
  map.set(key, found)
  return found
}

function removeFrom<Key, Value>(map: Map<Key, Set<Value>>, key: Key, value: Value): void {
  const found = map.get(key)
  found?.delete(value)
  if (found?.size === 0) map.delete(key)
}
