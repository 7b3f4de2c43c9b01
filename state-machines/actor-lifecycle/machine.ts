import { setup } from 'xstate'
import type { ActorStateName, EventName } from '@torpor/contracts'

/** What the router does with a request for an actor in a state. */
export type RouterTag = 'wakes' | 'parks' | 'routes' | 'rejects'
/** Where a life begins and ends: no actor of this name. Not a state of an actor. */
export type NoActor = 'NO_ACTOR'
export type ActorEventName =
  | Extract<EventName, `Actor${string}`>
  | Extract<EventName, `Snapshot${string}`>
  | 'TimerFired'

/** Events that leave an actor in its state. */
const staysOn = <State extends ActorStateName, Event extends ActorEventName>(state: State, ...on: Event[]) =>
  Object.fromEntries(on.map((event) => [event, state])) as Record<Event, State>

const STORAGE = [
  'SnapshotCompleted',
  'SnapshotUploadFailed',
  'SnapshotReleased',
  'SnapshotDetached',
  'SnapshotCollected',
  'TimerFired',
] as const
const STORAGE_AT_END = ['SnapshotDetached', 'SnapshotCollected', 'TimerFired'] as const

/**
 * The seven states of an actor. Transitions are on events, which are facts: no guards, no actions, no context. What may
 * happen when is decided in decide.ts, which may only return events that this machine accepts.
 */
// oxfmt-ignore
export const actorMachine = setup({
  types: { events: {} as { type: ActorEventName }, tags: {} as RouterTag },
}).createMachine({
  id: 'actor',
  initial: 'NO_ACTOR',
  states: {
    NO_ACTOR: { description: 'no actor of this name', tags: ['rejects'], on: {
      ActorCreated: 'ACTOR_STATE_SUSPENDED' } },

    ACTOR_STATE_SUSPENDED: { description: 'at rest; newest snapshot rules; books nothing', tags: ['wakes'], on: {
      ActorResumeStarted: 'ACTOR_STATE_RESUMING', ActorSnapshotLost: 'ACTOR_STATE_CRASHED',
      ActorDeleteStarted: 'ACTOR_STATE_DELETING', ...staysOn('ACTOR_STATE_SUSPENDED', ...STORAGE) } },

    ACTOR_STATE_RESUMING: { description: 'a node has admitted it and restores', tags: ['parks'], on: {
      ActorResumed: 'ACTOR_STATE_RUNNING', ActorResumeAbandoned: 'ACTOR_STATE_SUSPENDED',
      ActorCrashed: 'ACTOR_STATE_CRASHED', ActorNodeLost: 'ACTOR_STATE_CRASHED',
      ActorDeleteStarted: 'ACTOR_STATE_DELETING', ...staysOn('ACTOR_STATE_RESUMING', ...STORAGE) } },

    ACTOR_STATE_RUNNING: { description: 'serving; books its worker', tags: ['routes'], on: {
      ActorSuspendStarted: 'ACTOR_STATE_SUSPENDING', ActorExited: 'ACTOR_STATE_CRASHED',
      ActorNodeLost: 'ACTOR_STATE_CRASHED', ActorRevertStarted: 'ACTOR_STATE_REVERTING',
      ActorDeleteStarted: 'ACTOR_STATE_DELETING', ...staysOn('ACTOR_STATE_RUNNING', ...STORAGE) } },

    ACTOR_STATE_SUSPENDING: { description: 'draining, then checkpointing', tags: ['parks'], on: {
      ActorSuspended: 'ACTOR_STATE_SUSPENDED', ActorSuspendAbandoned: 'ACTOR_STATE_RUNNING',
      ActorExited: 'ACTOR_STATE_CRASHED', ActorNodeLost: 'ACTOR_STATE_CRASHED',
      ActorDeleteStarted: 'ACTOR_STATE_DELETING', ...staysOn('ACTOR_STATE_SUSPENDING', 'ActorCheckpointed', ...STORAGE) } },

    ACTOR_STATE_CRASHED: { description: 'execution since the last kept snapshot is lost', tags: ['rejects'], on: {
      ActorRevertStarted: 'ACTOR_STATE_REVERTING',
      ActorDeleteStarted: 'ACTOR_STATE_DELETING', ...staysOn('ACTOR_STATE_CRASHED', ...STORAGE) } },

    ACTOR_STATE_REVERTING: { description: 'sandbox is torn down; newest COMPLETED snapshot becomes current', tags: ['parks'], on: {
      ActorReverted: 'ACTOR_STATE_SUSPENDED',
      ActorDeleteStarted: 'ACTOR_STATE_DELETING', ...staysOn('ACTOR_STATE_REVERTING', ...STORAGE_AT_END) } },

    ACTOR_STATE_DELETING: { description: 'sandbox, snapshots and volumes are being collected', tags: ['rejects'], on: {
      ActorDeleted: 'NO_ACTOR', ...staysOn('ACTOR_STATE_DELETING', 'ActorExited', 'ActorNodeLost', ...STORAGE_AT_END) } },
  },
})
