import { transition } from 'xstate'
import type { AnyStateMachine } from 'xstate'
import { describe, expect, it } from 'vitest'
import { ACTOR_STATES, NODE_STATES } from '@torpor/contracts'
import { actorMachine } from './actor-lifecycle/machine.ts'
import { nodeMachine } from './node-membership/machine.ts'
import { parkedRequestMachine } from './request-parking/machine.ts'
import { storageMachine } from './snapshot-storage/machine.ts'
import { readTransitions } from './transition-table.ts'

const MACHINES: readonly AnyStateMachine[] = [actorMachine, storageMachine, nodeMachine, parkedRequestMachine]

describe.each(MACHINES.map((machine) => [machine.id, machine] as const))('the table of %s', (_, machine) => {
  const table = readTransitions<string, string>(machine)
  const events = [...new Set(Object.values(table).flatMap(Object.keys))]
  const pairs = Object.keys(table).flatMap((state) => events.map((event) => [state, event] as const))

  it.each(pairs)('says of %s on %s what XState says', (value, type) => {
    const state = machine.resolveState({ value, context: {} })
    const [next] = transition(machine, state, { type })
    expect(table[value]?.[type] ?? 'not legal').toBe(state.can({ type }) ? next.value : 'not legal')
  })
})

describe('the machines', () => {
  it('have the states that the contracts name, and one that stands for nothing', () => {
    expect(Object.keys(actorMachine.states)).toEqual(['NO_ACTOR', ...ACTOR_STATES])
    expect(Object.keys(nodeMachine.states).toSorted()).toEqual(['NO_NODE', ...NODE_STATES].toSorted())
  })

  it('give every state of an actor a description and one router tag', () => {
    for (const node of Object.values(actorMachine.states)) {
      expect(node.description).toMatch(/\w/)
      expect(node.tags).toHaveLength(1)
    }
  })
})
