import { isGone } from '@torpor/contracts'
import type { Entity } from './entity.ts'
import { createFifo } from './fifo.ts'

const FORGOTTEN_AT_ONCE_MAX = 16

/**
 * The state of a shard: committed, and ahead of it what the frames in flight will make of it.
 *
 * 1. *Ahead* holds only entities that a frame in flight touches, as that frame leaves them.
 * 2. What is committed never changes but by `commit`, in the order of the log.
 * 3. `dropAhead` leaves exactly what is committed.
 */
export type ShardState = {
  /** As the next decision must see it. */
  find(key: string): Entity | undefined
  committed(key: string): Entity | undefined
  stage(entity: Entity): void
  commit(entity: Entity): void
  dropAhead(): void
  /** All committed entities, deleted names that are still remembered too. */
  all(): Iterable<Entity>
  /** Forgets some deleted names whose time is over. */
  forgetGone(nowMs: number): void
}

export function createShardState(): ShardState {
  const committed = new Map<string, Entity>()
  const ahead = new Map<string, Entity>()
  const gone = createFifo<{ readonly key: string; readonly untilMs: number }>()
  return {
    find: (key) => ahead.get(key) ?? committed.get(key),
    committed: (key) => committed.get(key),
    stage: (entity) => void ahead.set(entity.key, entity),
    commit(entity) {
      committed.set(entity.key, entity)
      if (ahead.get(entity.key) === entity) ahead.delete(entity.key)
      if (isGone(entity.state)) gone.push({ key: entity.key, untilMs: entity.state.untilMs })
    },
    dropAhead: () => ahead.clear(),
    all: () => committed.values(),
    forgetGone(nowMs) {
      for (let count = 0; count < FORGOTTEN_AT_ONCE_MAX; count += 1) {
        const first = gone.peek()
        if (first === undefined || first.untilMs > nowMs) return
        gone.shift()
        const state = committed.get(first.key)?.state
        if (isGone(state) && state.untilMs <= nowMs) committed.delete(first.key)
      }
    },
  }
}
