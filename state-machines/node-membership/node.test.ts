import { describe, expect, it } from 'vitest'
import type { Node } from '@torpor/contracts'
import { nodeRef } from '@torpor/contracts'
import type { Scene } from '../given.ts'
import { RUNTIME, UID, scene } from '../given.ts'
import { nodeDecider } from './decider.ts'

const spec = (incarnation: string) => ({
  gateAddress: 'n1:7000',
  cpuMilli: 4_000,
  memoryMib: 8_192,
  sandboxRuntimes: [RUNTIME],
  incarnation,
})
const none = () => scene(nodeDecider, nodeRef('n1'))
const joined = () => none().when('JoinNode', { spec: spec('i1') })
const suspect = () => joined().when('SuspectNode', { silentMs: 9_000 })
const lost = () => suspect().when('LoseNode', { silentMs: 31_000 })
const draining = () => joined().when('DrainNode')
const stateOf = ({ state }: Scene<Node>) => (state !== undefined && 'spec' in state ? state.state : 'none')

/** The state after each command in each state; `=`: no event. */
const TABLE: readonly (readonly [string, unknown, ...string[]])[] = [
  //                                      JOINED     SUSPECT     DRAINING    LOST
  ['JoinNode', { spec: spec('i1') }, '=', 'JOINED', '=', 'JOINED'],
  ['JoinNode', { spec: spec('i2') }, 'JOINED', 'JOINED', 'JOINED', 'JOINED'],
  ['SuspectNode', { silentMs: 9_000 }, 'SUSPECT', '=', '=', '='],
  ['RecoverNode', {}, '=', 'JOINED', '=', '='],
  ['LoseNode', { silentMs: 31_000 }, 'LOST', 'LOST', 'LOST', '='],
  ['DrainNode', {}, 'DRAINING', 'DRAINING', '=', '='],
]
const cells = TABLE.flatMap(([command, data, ...expected]) =>
  [joined, suspect, draining, lost].map((at, index) => [command, at, data, expected[index] ?? ''] as const),
)

describe('a node', () => {
  it.each(cells)('answers %s in %o', (command, at, data, expected) => {
    const before = at()
    const after = before.when(command, data)
    expect(after.names.length === 0 ? '=' : stateOf(after).slice(11)).toBe(expected)
    expect(after.refusal).toBeUndefined()
  })

  it('keeps its uid and its birth through every incarnation', () => {
    const again = lost().when('JoinNode', { spec: spec('i2') })
    expect(again.names).toEqual(['NodeJoined'])
    expect(again.state).toMatchObject({ uid: UID, name: 'n1', spec: { incarnation: 'i2' } })
  })

  it('is unknown before it joins', () => {
    expect(none().when('DrainNode').refusal?.code).toBe('NODE_UNKNOWN')
    expect(joined().when('PaintNode').refusal?.code).toBe('COMMAND_UNKNOWN')
  })
})
