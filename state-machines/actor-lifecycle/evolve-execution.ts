import type { Actor, CrashReason, EventData, EventPosition, Snapshot } from '@torpor/contracts'
import { snapshotUri } from '@torpor/contracts'
import { LIMITS } from '@torpor/contracts'
import { assignedNodeOf, isOwn } from './snapshots.ts'
import { deadlineTimer, detachTimer, uploadTimer } from './timers.ts'

/**
 * What the events of an execution mean for the actor; evolve.ts sets `state`, `version` and `updateTimeMs`. A deadline
 * belongs to one -ING state: every fold here that changes the state drops the last one.
 */
export const EXECUTION_FOLDS = {
  ActorResumeStarted(actor: Actor, data: EventData<'ActorResumeStarted'>, { version }: EventPosition): Actor {
    const { epoch, sequence, node, worker, workerPool, gateAddress, generation, trigger } = data
    const { wakeWanted: _done, ...rest } = actor
    return {
      ...rest,
      phase: 'restoring',
      worker: { actorUid: actor.uid, epoch, sequence, node, worker, workerPool, gateAddress },
      resume: { generation, trigger },
      timers: [...rest.timers, deadlineTimer(version, data.deadlineAtMs)],
    }
  },

  ActorResumed(actor: Actor): Actor {
    const { resume: _over, ...rest } = actor
    return settled(rest)
  },

  ActorResumeAbandoned: (actor: Actor): Actor => atRest(actor),

  ActorSuspendStarted(
    actor: Actor,
    data: EventData<'ActorSuspendStarted'>,
    { version }: EventPosition,
  ): Actor {
    const { mode, drain, drainMs, generation } = data
    return {
      ...actor,
      phase: 'checkpointing',
      suspend: { mode, drain, drainMs, generation },
      lastAssignedGeneration: generation,
      timers: [...actor.timers, deadlineTimer(version, data.deadlineAtMs)],
    }
  },

  ActorCheckpointed(actor: Actor, { snapshot }: EventData<'ActorCheckpointed'>): Actor {
    if (actor.suspend === undefined) return actor
    return { ...actor, phase: 'uploading', suspend: { ...actor.suspend, checkpointed: snapshot } }
  },

  ActorSuspended(actor: Actor, { snapshot, uploadAtMs, detachAtMs }: EventData<'ActorSuspended'>): Actor {
    const { generation } = snapshot
    const rest: Mutable<Actor> = atRest(actor)
    rest.snapshots = [...rest.snapshots.filter((row) => row.generation !== generation), snapshot]
    rest.assignedNode = assignedNodeOf(rest.snapshots)
    rest.timers = [
      // An older generation that still waits for its upload is superseded: only the newest is worth the bytes.
      ...rest.timers.filter((timer) => timer.kind !== 'upload'),
      ...(uploadAtMs === undefined ? [] : [uploadTimer(generation, 0, uploadAtMs)]),
      detachTimer(generation, detachAtMs),
    ]
    return rest
  },

  ActorSuspendAbandoned(actor: Actor): Actor {
    const { suspend: _over, ...rest } = actor
    return settled(rest)
  },

  ActorExited(actor: Actor, { code, message }: EventData<'ActorExited'>, { timeMs }: EventPosition): Actor {
    return actor.state === 'ACTOR_STATE_DELETING' ? ended(actor) : crashed(actor, { code, message, timeMs })
  },

  ActorCrashed: (
    actor: Actor,
    { code, message }: EventData<'ActorCrashed'>,
    { timeMs }: EventPosition,
  ): Actor => crashed(actor, { code, message, timeMs }),

  ActorNodeLost(actor: Actor, { node }: EventData<'ActorNodeLost'>, { timeMs }: EventPosition): Actor {
    if (actor.state !== 'ACTOR_STATE_DELETING') {
      return crashed(actor, { code: 'NODE_UNAVAILABLE', message: `node ${node} is lost`, timeMs })
    }
    const collect = actor.collect.map((entry) => (entry.node === node ? { ...entry, node: '' } : entry))
    return { ...(actor.worker?.node === node ? ended(actor) : actor), collect }
  },

  ActorSnapshotLost(actor: Actor, data: EventData<'ActorSnapshotLost'>, { timeMs }: EventPosition): Actor {
    const { generation, code, message } = data
    const kept = keep(actor, (row) => row.generation !== generation)
    return crashed(kept, { code, message, timeMs })
  },

  ActorRevertStarted(actor: Actor, data: EventData<'ActorRevertStarted'>, position: EventPosition): Actor {
    const { generation, thenResume, deadlineAtMs } = data
    const { suspend: _suspend, resume: _resume, ...rest } = withoutDeadline(actor)
    return {
      ...rest,
      phase: 'terminating',
      revert: { generation, thenResume },
      ...(thenResume ? { restarts: oneMoreRestart(actor, position.timeMs) } : {}),
      timers: [...rest.timers, deadlineTimer(position.version, deadlineAtMs)],
    }
  },

  ActorReverted(actor: Actor, { generation }: EventData<'ActorReverted'>): Actor {
    const kept = keep(actor, (row) => (generation === 0 ? !isOwn(row) : row.generation === generation))
    const { crash: _healed, ...rest } = atRest(kept)
    return actor.revert?.thenResume === true ? { ...rest, wakeWanted: true } : rest
  },

  ActorDeleteStarted(actor: Actor, data: EventData<'ActorDeleteStarted'>, { version }: EventPosition): Actor {
    const { worker, suspend } = actor
    const { wakeWanted: _wish, ...rest } = atRest(keep(actor, () => false))
    const begun = suspend === undefined ? [] : [begunSnapshot(actor, suspend.generation)]
    return {
      ...rest,
      ...(worker === undefined ? {} : { worker }),
      phase: worker === undefined ? 'collecting' : 'terminating',
      collect: [...rest.collect, ...begun],
      timers: [deadlineTimer(version, data.deadlineAtMs)],
    }
  },
}

type Mutable<Value> = { -readonly [Key in keyof Value]: Value[Key] }

/** The actor without all that belongs to one execution, its deadline included. A value of its own. */
function atRest(actor: Actor): Actor {
  const { worker: _w, suspend: _s, resume: _r, revert: _v, ...rest } = actor
  return settled(rest)
}

/** Takes a copy that nobody else holds, and ends its -ING state. */
function settled(own: Mutable<Actor>): Actor {
  own.phase = ''
  own.timers = own.timers.filter(({ kind }) => kind !== 'deadline')
  return own
}

const withoutDeadline = (actor: Actor): Actor => ({
  ...actor,
  timers: actor.timers.filter(({ kind }) => kind !== 'deadline'),
})

const crashed = (actor: Actor, crash: CrashReason): Actor => ({ ...atRest(actor), crash })

/** DELETING: nothing runs any more, what is stored is next. */
function ended({ worker: _ended, ...actor }: Actor): Actor {
  return { ...actor, phase: 'collecting' }
}

/** Keeps some snapshots; of the others the own ones wait to be collected, borrowed ones are only forgotten. */
export function keep(actor: Actor, isKept: (row: Snapshot) => boolean): Actor {
  const snapshots = actor.snapshots.filter(isKept)
  const dropped = actor.snapshots.filter((row) => !isKept(row))
  const gone = new Set(dropped.map(({ generation }) => generation))
  return {
    ...actor,
    snapshots,
    assignedNode: assignedNodeOf(snapshots),
    collect: [
      ...actor.collect,
      ...dropped.filter(isOwn).map(({ generation, locality, uri }) => ({ generation, node: locality, uri })),
    ],
    timers: actor.timers.filter(({ generation }) => generation === undefined || !gone.has(generation)),
  }
}

/** A checkpoint that was under way may have left files, whether or not anybody heard of it. */
const begunSnapshot = (actor: Actor, generation: number) => ({
  generation,
  node: actor.suspend?.checkpointed?.locality ?? actor.worker?.node ?? '',
  uri: actor.suspend?.checkpointed?.uri ?? snapshotUri(actor.uid, generation),
})

const oneMoreRestart = ({ restarts }: Actor, timeMs: number) => ({
  count:
    restarts !== undefined && timeMs - restarts.lastAtMs < LIMITS.restartWindowMs ? restarts.count + 1 : 1,
  lastAtMs: timeMs,
})
