import type { Clock, Decider, EntityKind, HostCommand, Timer } from '@torpor/contracts'
import { isGone, sha256Hex } from '@torpor/contracts'
import type { HostLimits } from '../limits.ts'
import type { Entity } from './entity.ts'
import type { ShardState } from './shard-state.ts'
import type { DueTimer } from './timer-heap.ts'
import { createTimerHeap } from './timer-heap.ts'

export type ShardTimersDesk = {
  readonly clock: Clock
  readonly deciders: ReadonlyMap<EntityKind, Decider<unknown>>
  readonly state: ShardState
  readonly limits: HostLimits
  /** Submits `FireTimer`; resolves when it is answered, rejects when it is not. */
  fire(entity: Entity, id: string): Promise<unknown>
}

/** Live timers are swept out of the heap's dead ones when these are this many more. */
const DEAD_MAX = 4_096

/**
 * Fires the timers that committed state holds.
 *
 * 1. A timer is fired only if committed state still holds it.
 * 2. A timer that committed state still holds after it was fired is fired again, after `timerRetryMs`.
 */
export type ShardTimers = {
  /** Takes the timers of a state that was committed. */
  arm(entity: Entity, before: unknown): void
  /** Takes the timers of all committed states. */
  armAll(): void
  stop(): void
}

export function createShardTimers(desk: ShardTimersDesk): ShardTimers {
  const heap = createTimerHeap()
  let cancel: (() => void) | undefined
  let wakesAtMs = Number.POSITIVE_INFINITY
  let sweepAt = DEAD_MAX
  let isStopped = false

  const timersOf = (entity: Entity | undefined): readonly Timer[] => timersIn(desk, entity)
  const isLive = ({ key, id, dueAtMs }: DueTimer): boolean =>
    timersOf(desk.state.committed(key)).some((timer) => timer.id === id && timer.dueAtMs <= dueAtMs)

  const wake = (): void => {
    cancel = undefined
    wakesAtMs = Number.POSITIVE_INFINITY
    const nowMs = desk.clock.nowMs()
    for (let fired = 0; fired < desk.limits.timersFiredAtOnceMax;) {
      const first = heap.peek()
      if (first === undefined || first.dueAtMs > nowMs) break
      heap.pop()
      if (!isLive(first)) continue
      fired += 1
      fire(first)
    }
    schedule()
  }

  const fire = (due: DueTimer): void => {
    const entity = desk.state.committed(due.key)
    if (entity === undefined) return
    const again = (): void => {
      if (isStopped || !isLive(due)) return
      heap.push({ ...due, dueAtMs: desk.clock.nowMs() + desk.limits.timerRetryMs })
      schedule()
    }
    desk.fire(entity, due.id).then(again, again)
  }

  const schedule = (): void => {
    const first = heap.peek()
    if (isStopped || first === undefined || first.dueAtMs >= wakesAtMs) return
    cancel?.()
    wakesAtMs = first.dueAtMs
    cancel = desk.clock.after(Math.max(0, first.dueAtMs - desk.clock.nowMs()), wake)
  }

  const take = (entity: Entity, known: readonly Timer[]): void => {
    for (const { id, dueAtMs } of timersOf(entity)) {
      if (known.some((timer) => timer.id === id && timer.dueAtMs === dueAtMs)) continue
      heap.push({ dueAtMs, key: entity.key, id })
    }
  }

  return {
    arm(entity, before) {
      take(entity, timersIn(desk, { ref: entity.ref, state: before }))
      if (heap.size > sweepAt) {
        heap.sweep(isLive)
        sweepAt = heap.size * 2 + DEAD_MAX
      }
      schedule()
    },
    armAll() {
      for (const entity of desk.state.all()) take(entity, [])
      schedule()
    },
    stop() {
      isStopped = true
      cancel?.()
    },
  }
}

function timersIn(
  desk: Pick<ShardTimersDesk, 'deciders'>,
  entity: Pick<Entity, 'ref' | 'state'> | undefined,
): readonly Timer[] {
  if (entity?.state === undefined || isGone(entity.state)) return []
  return desk.deciders.get(entity.ref.kind)?.timers(entity.state) ?? []
}

/** The command by which a timer fires. */
export const fireTimerCommand = (
  entity: Entity,
  timerId: string,
  owner: string,
  id: string,
): HostCommand => ({
  id,
  type: 'FireTimer',
  target: entity.ref,
  data: { id: timerId },
  digest: sha256Hex(`FireTimer ${entity.key} ${timerId}`),
  principal: { principal: owner, proof: 'system' },
  correlationId: id,
})
