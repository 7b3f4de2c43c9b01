import type { Actor, EventData, EventPosition, Snapshot } from '@torpor/contracts'
import { keep } from './evolve-execution.ts'
import { assignedNodeOf } from './snapshots.ts'
import { DEADLINES_MS, deadlineTimer, isTransient, uploadTimer } from './timers.ts'

/** What the events of snapshots and timers mean for the actor; none of them changes its state. Each gives a value of its own. */
export const STORAGE_FOLDS = {
  SnapshotCompleted(
    actor: Actor,
    { generation, manifestDigest, uri }: EventData<'SnapshotCompleted'>,
  ): Actor {
    const done = changeRow(actor, generation, ({ nextAttemptAtMs: _next, lastError: _error, ...row }) => ({
      ...row,
      manifestDigest,
      uri,
      storageState: 'SNAPSHOT_STORAGE_STATE_COMPLETED',
    }))
    return withoutTimer(done, 'upload', generation)
  },

  SnapshotUploadFailed(actor: Actor, data: EventData<'SnapshotUploadFailed'>): Actor {
    const { generation, attempts, nextAttemptAtMs, lastError } = data
    const failed = (row: Snapshot): Snapshot => ({ ...row, attempts, nextAttemptAtMs, lastError })
    const { suspend } = actor
    const checkpointed = suspend?.checkpointed
    const inSuspend = suspend !== undefined && checkpointed?.generation === generation
    const changed = inSuspend
      ? { ...actor, suspend: { ...suspend, checkpointed: failed(checkpointed) } }
      : changeRow(actor, generation, failed)
    const { timers } = withoutTimer(changed, 'upload', generation)
    return { ...changed, timers: [...timers, uploadTimer(generation, attempts, nextAttemptAtMs)] }
  },

  SnapshotReleased: (actor: Actor, { generation }: EventData<'SnapshotReleased'>): Actor =>
    keep(actor, (row) => row.generation !== generation),

  SnapshotDetached(actor: Actor, { generation, node }: EventData<'SnapshotDetached'>): Actor {
    const detached = changeRow(actor, generation, (row) =>
      row.locality === node ? { ...row, locality: '' } : row,
    )
    return withoutTimer(detached, 'detach', generation)
  },

  SnapshotCollected: (actor: Actor, { generation }: EventData<'SnapshotCollected'>): Actor => ({
    ...actor,
    collect: actor.collect.filter((entry) => entry.generation !== generation),
  }),

  /** A deadline that passes sets the next one: somebody asks again until facts end the state. */
  TimerFired(actor: Actor, { id }: EventData<'TimerFired'>, { version, timeMs }: EventPosition): Actor {
    const fired = actor.timers.find((timer) => timer.id === id)
    const timers = actor.timers.filter((timer) => timer.id !== id)
    if (fired?.kind !== 'deadline' || !isTransient(actor.state)) return { ...actor, timers }
    return { ...actor, timers: [...timers, deadlineTimer(version, timeMs + DEADLINES_MS[actor.state])] }
  },
}

function changeRow(actor: Actor, generation: number, change: (row: Snapshot) => Snapshot): Actor {
  const snapshots = actor.snapshots.map((row) => (row.generation === generation ? change(row) : row))
  return { ...actor, snapshots, assignedNode: assignedNodeOf(snapshots) }
}

const withoutTimer = (actor: Actor, kind: 'upload' | 'detach', generation: number): Actor => ({
  ...actor,
  timers: actor.timers.filter((timer) => timer.kind !== kind || timer.generation !== generation),
})
