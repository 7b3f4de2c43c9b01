import type {
  ActorTemplate,
  Decider,
  DomainEvent,
  EntityRef,
  Gone,
  HostCommand,
  NodeCapacity,
  Refusal,
  Snapshot,
  WorkerCapacity,
} from '@torpor/contracts'
import { actorRef, actorTemplateSpecSchema, isGone, snapshotUri } from '@torpor/contracts'
import type { Actor } from '@torpor/contracts'
import { actorDecider } from './actor-lifecycle/decider.ts'

/** What the tests here say: given what happened, when a command comes, then this is decided. */
export const NOW_MS = 1_700_000_000_000
export const UID = '01900000-0000-7000-8000-000000000001'
export const EPOCH = 3
export const REF = actorRef('demo', 'counter-1')

export type Scene<State> = {
  readonly state: State | Gone | undefined
  readonly version: number
  readonly events: readonly DomainEvent[]
  readonly refusal: Refusal | undefined
  /** Names of the events that were decided. */
  readonly names: readonly string[]
  at(nowMs: number): Scene<State>
  when(type: string, data?: unknown, facts?: unknown): Scene<State>
}

/** An entity with no past, or the one that a scene has come to; `when` decides and folds. */
export function scene<State>(
  decider: Decider<State>,
  ref: EntityRef,
  past: { state?: State | Gone | undefined; version?: number; nowMs?: number } = {},
): Scene<State> {
  const { state, version = 0, nowMs = NOW_MS } = past
  return {
    state,
    version,
    events: [],
    refusal: undefined,
    names: [],
    at: (later) => scene(decider, ref, { state, version, nowMs: later }),
    when(type, data = {}, facts = undefined) {
      const command = commandOf(ref, type, data, facts)
      const context = { nowMs, epoch: EPOCH, version, newUid: UID, target: ref }
      const decision = decider.decide(command, state, context)
      const events = decision.kind === 'accepted' ? decision.events : []
      const after = events.reduce<State | Gone | undefined>((before, event, index) => {
        const position = { version: version + index + 1, epoch: EPOCH, timeMs: nowMs }
        // Frozen: a fold that changed the state it was given would throw.
        return Object.freeze(decider.evolve(Object.freeze(before), event, ref, position))
      }, state)
      return {
        ...scene(decider, ref, { state: after, version: version + events.length, nowMs }),
        events,
        refusal: decision.kind === 'refused' ? decision.refusal : undefined,
        names: events.map(({ type }) => type),
      }
    },
  }
}

const commandOf = (ref: EntityRef, type: string, data: unknown, facts?: unknown): HostCommand => ({
  id: UID,
  type,
  target: ref,
  data,
  digest: '',
  principal: { principal: 'test', proof: 'anonymous' },
  correlationId: UID,
  ...(facts === undefined ? {} : { facts }),
})

export const RUNTIME = {
  sandboxClass: 'gvisor' as const,
  version: { attributes: [{ key: 'architecture', value: 'amd64' }] },
}

export const templateSpec = (more: Record<string, unknown> = {}) =>
  actorTemplateSpecSchema.parse({
    sandboxClasses: [{ name: 'gvisor' }],
    containers: [{ name: 'main', image: 'oci:counter:latest' }],
    ...more,
  })

export const snapshotRow = (generation: number, more: Partial<Snapshot> = {}): Snapshot => ({
  generation,
  owner: 'SNAPSHOT_OWNER_ACTOR',
  fidelity: 'SNAPSHOT_FIDELITY_MEMORY',
  actorTemplateUid: 'template-uid',
  locality: 'n1',
  storageState: 'SNAPSHOT_STORAGE_STATE_PENDING',
  uri: snapshotUri(UID, generation),
  ...(more.storageState === 'SNAPSHOT_STORAGE_STATE_COMPLETED'
    ? { manifestDigest: `blake3:${generation}` }
    : {}),
  bytes: 1_000,
  sandboxRuntime: RUNTIME,
  createTimeMs: NOW_MS,
  attempts: 0,
  ...more,
})

export const template = (more: Partial<ActorTemplate> = {}): ActorTemplate => ({
  uid: 'template-uid',
  atespace: 'demo',
  name: 'counter',
  version: 2,
  createTimeMs: NOW_MS,
  spec: templateSpec(),
  golden: {
    phase: 'READY',
    snapshot: snapshotRow(1, {
      owner: 'SNAPSHOT_OWNER_TAG',
      locality: '',
      storageState: 'SNAPSHOT_STORAGE_STATE_COMPLETED',
      uri: 'actors/golden/0000000001',
    }),
  },
  ...more,
})

export const NAMED = { template: { atespace: 'demo', name: 'counter' } }

export const admission = (node = 'n1') => ({
  prepareId: 'prepare-1',
  node,
  worker: 'small-0',
  workerPool: 'small',
  gateAddress: `${node}:7000`,
})

/** A scene of an actor that exists; `actor` fails when it does not. */
export const actorOf = ({ state }: Scene<Actor>): Actor => {
  if (state === undefined || isGone(state)) throw new Error('the scene has no actor')
  return state
}

export const tokenOf = (actor: Actor) => ({
  epoch: actor.worker?.epoch ?? 0,
  sequence: actor.worker?.sequence ?? 0,
})

/** Actors in each state, reached by commands and reports only. */
export const noActor = () => scene(actorDecider, REF)
export const suspended = (spec: Record<string, unknown> = {}) =>
  noActor().when('CreateActor', NAMED, { template: template({ spec: templateSpec(spec) }) })
export const golden = () =>
  noActor().when('CreateActor', NAMED, { template: template({ golden: { phase: 'PENDING' } }), golden: true })
export const resuming = (before = suspended(), node = 'n1') =>
  before.when('ResumeActor', { trigger: 'caller' }, { admission: admission(node) })
export const running = (before = suspended(), node = 'n1') => {
  const started = resuming(before, node)
  return started.when('ReportRestored', { ...tokenOf(actorOf(started)), phasesMs: {} }, { node })
}
export const SUSPEND = { mode: 'async', drain: 'drain', drainTimeout: 30_000 }
export const suspending = (before = running(), mode = 'async') =>
  before.when('SuspendActor', { ...SUSPEND, mode })
export const crashed = (before = running()) =>
  before.when('ReportExited', {
    ...tokenOf(actorOf(before)),
    code: 'ACTOR_EXITED',
    message: 'exit 1',
    exitCode: 1,
  })
export const reverting = (before = running()) => before.when('RevertActor', { thenResume: false })
export const deleting = (before = running()) => before.when('DeleteActor', { anyState: true })

/** The node keeps the checkpoint that was asked for. */
export const checkpointed = (before = suspending(), node = 'n1') => {
  const actor = actorOf(before)
  const snapshot = snapshotRow(actor.suspend?.generation ?? 0, { locality: node })
  return before.when('ReportCheckpointed', { ...tokenOf(actor), snapshot, phasesMs: {} }, { node })
}
export const uploaded = (before: Scene<Actor>, generation: number) =>
  before.when('ReportUploaded', {
    generation,
    manifestDigest: `blake3:${generation}`,
    uri: snapshotUri(UID, generation),
    bytes: 1_000,
    elapsedMs: 5,
  })

/** The rows as one reads them: `TAG/COMPLETED/1`, `ACTOR/PENDING/2@n1`. */
export const rows = (at: Scene<Actor>): readonly string[] =>
  actorOf(at).snapshots.map(({ owner, storageState, generation, locality }) => {
    const where = locality === '' ? '' : `@${locality}`
    return `${owner.slice(15)}/${storageState.slice(23)}/${generation}${where}`
  })
export const timerIds = (at: Scene<Actor>): readonly string[] => actorOf(at).timers.map(({ id }) => id)

export const workerCapacity = (worker: string, more: Partial<WorkerCapacity> = {}): WorkerCapacity => ({
  worker,
  workerPool: 'small',
  sandboxClass: 'gvisor',
  labels: {},
  cpuMilli: 2_000,
  memoryMib: 1_088,
  maxActors: 10,
  bookedCpuMilli: 0,
  bookedMemoryMib: 0,
  actors: 0,
  ...more,
})

export const nodeCapacity = (node: string, more: Partial<NodeCapacity> = {}): NodeCapacity => ({
  node,
  gateAddress: `${node}:7000`,
  timeMs: NOW_MS,
  draining: false,
  sandboxRuntimes: [RUNTIME],
  workers: [workerCapacity(`${node}-0`)],
  ...more,
})
