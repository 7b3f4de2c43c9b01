import { afterEach, beforeEach, expect, test } from 'vitest'
import { LIMITS } from '@torpor/contracts'
import type { Inventory } from '@torpor/contracts'
import type { AgentWorld, TestActor } from '../agent-world.ts'
import {
  aSpec,
  anActor,
  counts,
  report,
  runActor,
  startAgentWorld,
  throughGate,
  typesOf,
} from '../agent-world.ts'

let world: AgentWorld
let actor: TestActor
beforeEach(async () => {
  world = await startAgentWorld()
  actor = anActor()
})
afterEach(() => world.close())

test('a process that ends by itself is told in time, with its code and last line, and its booking is free', async () => {
  await runActor(world, actor, actor.start(1))
  const exitedAtMs = performance.now()
  await throughGate(world, actor, 1, '/exit?code=7')
  expect(await report(world, actor, 'Exited')).toEqual({
    epoch: 1,
    sequence: 1,
    code: 'PROCESS_EXITED',
    exitCode: 7,
    message: 'process ended with code 7; last line: asked to exit',
  })
  expect(performance.now() - exitedAtMs).toBeLessThan(LIMITS.exitNoticeMs)
  expect(await throughGate(world, actor, 1)).toMatchObject({ status: 421 })
  const inventory = await world.command<Inventory>('Inventory', {})
  expect(inventory).toMatchObject({ result: { sandboxes: [] } })
  await world.agent.idle()
  expect(await world.runtime.list()).toEqual([])
})

test('an actor that was killed for its memory can start anew at once', async () => {
  await runActor(world, actor, actor.start(1))
  await world.runtime.kill(actor.actorUid, 'memory')
  expect(await report(world, actor, 'Exited')).toMatchObject({
    message: expect.stringContaining('memory limit reached') as string,
  })
  await runActor(world, actor, actor.start(2))
  expect(await throughGate(world, actor, 2)).toMatchObject({ text: counts(1) })
})

test('an idle actor is told after its timeout, one without a timeout never', async () => {
  const other = anActor('other')
  await runActor(world, other, other.start(1))
  await runActor(world, actor, actor.start(1, undefined, aSpec({ spec: { idleTimeout: '100ms' } })))
  const { idleMs, ...rest } = await report(world, actor, 'IdleTimedOut')
  expect(rest).toEqual({ epoch: 1, sequence: 1 })
  expect(idleMs).toBeGreaterThanOrEqual(100)
  await report(world, actor, 'IdleTimedOut', 2)
  expect(typesOf(world, other)).toEqual(['Restored'])
})
