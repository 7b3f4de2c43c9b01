import { setup } from 'xstate'
import type { EventName } from '@torpor/contracts'

export type NodeEventName = Extract<EventName, `Node${string}`>
export type NoNode = 'NO_NODE'

/** How a node belongs. Silence makes it SUSPECT, then LOST; only joining again brings a LOST one back. */
// oxfmt-ignore
export const nodeMachine = setup({ types: { events: {} as { type: NodeEventName } } }).createMachine({
  id: 'node',
  initial: 'NO_NODE',
  states: {
    NO_NODE: { description: 'no node of this name', on: { NodeJoined: 'NODE_STATE_JOINED' } },
    NODE_STATE_JOINED: { description: 'takes actors', on: {
      NodeJoined: 'NODE_STATE_JOINED', NodeSuspected: 'NODE_STATE_SUSPECT',
      NodeDrainStarted: 'NODE_STATE_DRAINING', NodeLost: 'NODE_STATE_LOST' } },
    NODE_STATE_SUSPECT: { description: 'silent; not yet fenced for sure', on: {
      NodeJoined: 'NODE_STATE_JOINED', NodeRecovered: 'NODE_STATE_JOINED',
      NodeDrainStarted: 'NODE_STATE_DRAINING', NodeLost: 'NODE_STATE_LOST' } },
    NODE_STATE_DRAINING: { description: 'takes no more actors', on: {
      NodeJoined: 'NODE_STATE_JOINED', NodeLost: 'NODE_STATE_LOST' } },
    NODE_STATE_LOST: { description: 'silent so long that it has fenced itself', on: {
      NodeJoined: 'NODE_STATE_JOINED' } },
  },
})
