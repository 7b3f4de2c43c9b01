import type { Actor, ActorStateName } from '@torpor/contracts'
import { ACTOR_STATES } from '@torpor/contracts'
import { expect, test } from 'vitest'
import { ACTOR, NOW_MS } from '../scripted-world.ts'
import { adviceFor, allowedIn, meaningOf } from './explanation.ts'

const inState = (state: ActorStateName): Actor => {
  const worker = {
    actorUid: ACTOR.uid,
    epoch: 1,
    sequence: 1,
    node: 'node-1',
    worker: 'w',
    workerPool: 'p',
    gateAddress: '127.0.0.1:1',
  }
  const atRest = state === 'ACTOR_STATE_SUSPENDED' || state === 'ACTOR_STATE_CRASHED'
  return { ...ACTOR, state, ...(atRest ? {} : { worker }) }
}
const verbs = (state: ActorStateName, answer: RegExp): string[] =>
  allowedIn(inState(state), NOW_MS)
    .filter(([, said]) => answer.test(said))
    .map(([verb]) => verb)

test.each<[ActorStateName, string[], string[]]>([
  ['ACTOR_STATE_SUSPENDED', ['resume', 'delete'], ['revert']],
  ['ACTOR_STATE_RUNNING', ['suspend', 'revert'], []],
  ['ACTOR_STATE_SUSPENDING', [], ['resume', 'revert']],
  ['ACTOR_STATE_CRASHED', ['revert', 'delete'], ['resume', 'suspend']],
  ['ACTOR_STATE_DELETING', [], ['resume', 'suspend', 'revert']],
])('in %s the rules allow %j and refuse %j', (state, allowed, refused) => {
  expect(verbs(state, /^allowed$/)).toEqual(allowed)
  expect(verbs(state, /^refused/)).toEqual(refused)
})

test('every state has a meaning and something to do next', () => {
  for (const state of ACTOR_STATES) {
    expect(meaningOf(inState(state))).toMatch(/^\w.*; \w/)
    expect(adviceFor(inState(state)).length).toBeGreaterThan(0)
  }
  expect(verbs('ACTOR_STATE_RUNNING', /only with --any-state/)).toEqual(['delete'])
})
