import type { CommandData, Decider, Decision, WorkerPlacement, WorkerPool } from '@torpor/contracts'
import { LIMITS, accept, displayName, isGone, refuse, reject } from '@torpor/contracts'

/** Data of the command that no client may send: where the replicas are now. */
export type InternalPoolCommands = {
  readonly PlaceWorkers: { readonly workers: readonly WorkerPlacement[] }
}

/** A pool says how many workers of which size there shall be; where they are is planned by place-replicas.ts. */
export const workerPoolDecider: Decider<WorkerPool> = {
  kind: 'worker-pool',

  decide(command, state, context) {
    const name = displayName(context.target)
    const pool = isGone(state) ? undefined : state
    if (command.type === 'CreateWorkerPool') {
      if (pool !== undefined) return reject(refuse('ALREADY_EXISTS', name))
      const { spec } = command.data as CommandData<'CreateWorkerPool'>
      const uid = context.newUid
      return accept([{ type: 'WorkerPoolCreated', data: { uid, spec } }], { uid })
    }
    if (!COMMANDS.has(command.type)) return reject(refuse('COMMAND_UNKNOWN', command.type))
    if (pool === undefined) return reject(refuse('WORKER_POOL_UNKNOWN', name))
    return decideKnown(command.type, command.data, pool, context.nowMs)
  },

  evolve(state, event, ref, position) {
    const { version, timeMs } = position
    if (event.type === 'WorkerPoolCreated') {
      const { uid, spec } = event.data
      return { uid, name: ref.name, version, createTimeMs: timeMs, spec, workers: [] }
    }
    if (state === undefined || isGone(state)) return state
    switch (event.type) {
      case 'WorkerPoolUpdated':
        return { ...state, version, spec: event.data.spec }
      case 'WorkersPlaced':
        return { ...state, version, workers: event.data.workers }
      case 'WorkerPoolDeleted':
        return { gone: true, uid: state.uid, untilMs: event.data.goneUntilMs }
      default:
        return state
    }
  },

  timers: () => [],
}

const COMMANDS: ReadonlySet<string> = new Set(['UpdateWorkerPool', 'PlaceWorkers', 'DeleteWorkerPool'])

function decideKnown(type: string, data: unknown, pool: WorkerPool, nowMs: number): Decision {
  const result = { uid: pool.uid }
  if (type === 'DeleteWorkerPool') {
    return accept([{ type: 'WorkerPoolDeleted', data: { goneUntilMs: nowMs + LIMITS.goneMs } }], result)
  }
  if (type === 'PlaceWorkers') {
    const { workers } = data as InternalPoolCommands['PlaceWorkers']
    const isSame = JSON.stringify(workers) === JSON.stringify(pool.workers)
    return accept(isSame ? [] : [{ type: 'WorkersPlaced', data: { workers: [...workers] } }], result)
  }
  const { spec } = data as CommandData<'UpdateWorkerPool'>
  const isSame = JSON.stringify(spec) === JSON.stringify(pool.spec)
  return accept(isSame ? [] : [{ type: 'WorkerPoolUpdated', data: { spec } }], result)
}
