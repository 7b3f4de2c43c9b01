import type {
  Decider,
  Decision,
  DomainEvent,
  HostCommand,
  Node,
  NodeSpec,
  NodeStateName,
} from '@torpor/contracts'
import { accept, displayName, fault, isGone, refuse, reject } from '@torpor/contracts'
import { readTransitions } from '../transition-table.ts'
import type { NodeEventName, NoNode } from './machine.ts'
import { nodeMachine } from './machine.ts'

export const NODE_TRANSITIONS = readTransitions<NodeStateName | NoNode, NodeEventName>(nodeMachine)

/** Data of the commands for a node; only DrainNode is for people. */
export type NodeCommandPayload = {
  readonly JoinNode: { readonly spec: NodeSpec }
  readonly SuspectNode: { readonly silentMs: number }
  readonly RecoverNode: Record<string, never>
  readonly LoseNode: { readonly silentMs: number }
  readonly DrainNode: Record<string, never>
}

/**
 * A node joins with what it offers, and again with each new incarnation of its agent, which also ends a drain. Drained, it
 * is not suspected: it takes nothing that would have to be taken back.
 */
export const nodeDecider: Decider<Node> = {
  kind: 'node',

  decide(command, state, context) {
    const node = isGone(state) ? undefined : state
    if (command.type === 'JoinNode') return join(command, node, context.newUid)
    if (!Object.hasOwn(CHANGES, command.type)) return reject(refuse('COMMAND_UNKNOWN', command.type))
    if (node === undefined) return reject(refuse('NODE_UNKNOWN', displayName(context.target)))
    const event = CHANGES[command.type]?.(command.data)
    const isLegal =
      event !== undefined && NODE_TRANSITIONS[node.state][event.type as NodeEventName] !== undefined
    return accept(isLegal ? [event] : [], { uid: node.uid })
  },

  evolve(state, event, ref, position) {
    const before = isGone(state) ? undefined : state
    if (!isNodeEvent(event)) return state
    const next = NODE_TRANSITIONS[before?.state ?? 'NO_NODE'][event.type]
    if (next === undefined || next === 'NO_NODE') {
      const detail = `${event.type} is not legal in ${before?.state ?? 'NO_NODE'}`
      throw fault('INTERNAL', displayName(ref), { detail })
    }
    const moved = { state: next, version: position.version }
    if (event.type === 'NodeJoined') {
      const { uid, spec } = event.data
      return { uid, name: ref.name, createTimeMs: before?.createTimeMs ?? position.timeMs, spec, ...moved }
    }
    return before === undefined ? undefined : { ...before, ...moved }
  },

  timers: () => [],
}

/** What is said of a node that is known; said of one in a state that it changes nothing in, nothing happens. */
const CHANGES: Readonly<Record<string, (data: unknown) => DomainEvent>> = {
  SuspectNode: (data) => ({ type: 'NodeSuspected', data: { silentMs: silentMsOf(data) } }),
  LoseNode: (data) => ({ type: 'NodeLost', data: { silentMs: silentMsOf(data) } }),
  RecoverNode: () => ({ type: 'NodeRecovered', data: {} }),
  DrainNode: () => ({ type: 'NodeDrainStarted', data: {} }),
}

const silentMsOf = (data: unknown): number => (data as NodeCommandPayload['LoseNode']).silentMs

function join(command: HostCommand, node: Node | undefined, newUid: string): Decision {
  const { spec } = command.data as NodeCommandPayload['JoinNode']
  const uid = node?.uid ?? newUid
  const isSame = JSON.stringify(node?.spec) === JSON.stringify(spec)
  if (isSame && (node?.state === 'NODE_STATE_JOINED' || node?.state === 'NODE_STATE_DRAINING')) {
    return accept([], { uid })
  }
  return accept([{ type: 'NodeJoined', data: { uid, spec } }], { uid })
}

const NAMES: ReadonlySet<string> = new Set(Object.values(NODE_TRANSITIONS).flatMap(Object.keys))

const isNodeEvent = (event: DomainEvent): event is Extract<DomainEvent, { type: NodeEventName }> =>
  NAMES.has(event.type)
