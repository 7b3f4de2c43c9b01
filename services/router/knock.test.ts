import { afterEach, beforeEach, expect, test } from 'vitest'
import type { Reply } from '@torpor/contracts'
import { actorRef, refuse, systemClock, LIMITS } from '@torpor/contracts'
import { anActor, anAssignment, startTestGate } from '../node-agent/gate/gate-world.ts'
import { createGates } from './gate-request.ts'
import type { Gates } from './gate-request.ts'
import { wakeAtGate } from './knock.ts'
import type { AnswerWhen, Placed } from './wake.ts'

const REF = actorRef('demo', 'counter')

let gate: Awaited<ReturnType<typeof startTestGate>>
let gates: Gates
let asked: AnswerWhen[]

beforeEach(async () => {
  gate = await startTestGate()
  gates = createGates(LIMITS, systemClock)
  asked = []
})
afterEach(async () => {
  gates.agent.destroy()
  await gate.stop()
})

const placed = (gateAddress = gate.address): Placed => ({ assignment: anAssignment(), gateAddress })
const starting = (gateAddress?: string): Placed => ({ ...placed(gateAddress), isStarting: true })

/** Wakes through an owner that answers so, one after the other. */
const wake = (...answers: readonly Reply<Placed>[]): Promise<Reply<Placed>> =>
  wakeAtGate(async (_ref, _commandId, answerWhen) => {
    asked.push(answerWhen)
    return answers[asked.length - 1] ?? { ok: false, error: refuse('INTERNAL', 'asked too often') }
  }, gates)(REF, 'command-1', 'serving')

test('an actor that starts is waited for at its gate: its owner is asked once', async () => {
  const woken = wake({ ok: true, result: starting() })
  gate.open(anActor(1))
  expect(await woken).toEqual({ ok: true, result: starting() })
  expect(asked).toEqual(['placed'])
})

test('an actor that serves already needs no gate', async () => {
  expect(await wake({ ok: true, result: placed('127.0.0.1:1') })).toMatchObject({ ok: true })
  expect(asked).toEqual(['placed'])
})

test('a refusal of the owner stands', async () => {
  const refusal = { ok: false as const, error: refuse('ACTOR_CRASHED', 'demo/counter') }
  expect(await wake(refusal)).toEqual(refusal)
  expect(asked).toEqual(['placed'])
})

test('a gate that turns the router away says nothing about the actor: its owner does', async () => {
  const crashed = { ok: false as const, error: refuse('ACTOR_CRASHED', 'demo/counter') }
  gate.open(anActor(1, { assignment: anAssignment(2) }))
  expect(await wake({ ok: true, result: starting() }, crashed)).toEqual(crashed)
  expect(asked).toEqual(['placed', 'serving'])
})

test('neither does one that nobody answers at', async () => {
  const moved = { ok: true as const, result: placed() }
  expect(await wake({ ok: true, result: starting('127.0.0.1:1') }, moved)).toEqual(moved)
  expect(asked).toEqual(['placed', 'serving'])
})
