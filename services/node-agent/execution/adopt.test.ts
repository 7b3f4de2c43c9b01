import { mkdir, readdir, readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'
import type { Inventory } from '@torpor/contracts'
import type { AgentWorld, TestActor } from '../agent-world.ts'
import {
  aSpec,
  anActor,
  checkpointOf,
  counts,
  namesOf,
  prepareOf,
  report,
  runActor,
  startAgentWorld,
  throughGate,
  typesOf,
  until,
} from '../agent-world.ts'
import type { NodeAgentPorts } from '../context.ts'

let world: AgentWorld
let actor: TestActor
beforeEach(async () => {
  world = await startAgentWorld()
  actor = anActor()
})
afterEach(() => world.close())

const recordFile = (): string => join(world.dataDir, 'slots', `${actor.actorUid}.json`)
const rewriteRecord = async (change: object): Promise<void> => {
  const record = JSON.parse(await readFile(recordFile(), 'utf8')) as object
  await writeFile(recordFile(), JSON.stringify({ ...record, ...change }))
}
const inventory = async (): Promise<Inventory> => {
  const reply = await world.command<Inventory>('Inventory', {})
  if (!reply.ok) throw new Error(reply.error.message)
  return reply.result
}

test('what serves goes on serving under the next agent, booked and watched', async () => {
  await runActor(world, actor, actor.start(1))
  await throughGate(world, actor, 1)
  await world.restart()
  expect(await throughGate(world, actor, 1)).toEqual({ status: 200, text: counts(2) })
  expect((await inventory()).sandboxes).toMatchObject([{ ...namesOf(actor), sequence: 1, phase: 'running' }])
  for (const name of ['a', 'b']) await world.command('Prepare', prepareOf(anActor(name).start(1), 60_000))
  expect((await inventory()).prepares).toHaveLength(1)
  await world.runtime.kill(actor.actorUid, 'killed')
  await report(world, actor, 'Exited')
})

test('workers and the highest assignments are known to the next agent', async () => {
  await runActor(world, actor, actor.start(7))
  await world.command('Terminate', { ...namesOf(actor), epoch: 1, sequence: 7 })
  await report(world, actor, 'Terminated')
  await world.restart()
  expect(await world.command('Go', actor.start(6))).toMatchObject({ error: { code: 'ASSIGNMENT_OLD' } })
  expect(await world.command('Prepare', prepareOf(anActor('b').start(1)))).toMatchObject({ ok: true })
})

test('a Go again after a restart reports Restored again', async () => {
  await runActor(world, actor, actor.start(1))
  await world.restart()
  await world.command('Go', actor.start(1))
  const { phasesMs, ...rest } = await report(world, actor, 'Restored', 2)
  expect(rest).toEqual({ epoch: 1, sequence: 1 })
  expect(phasesMs['restore']).toBe((await report(world, actor, 'Restored')).phasesMs['restore'])
})

test('what was only half started ends, and starts when its Go comes again', async () => {
  await runActor(world, actor, actor.start(1))
  await throughGate(world, actor, 1)
  await world.die()
  await rewriteRecord({ phase: 'starting' })
  await world.restart()
  await world.agent.idle()
  expect(await world.runtime.list()).toEqual([])
  expect((await inventory()).sandboxes).toEqual([])
  await world.command('Go', actor.start(1))
  await report(world, actor, 'Restored', 2)
  expect(await throughGate(world, actor, 1)).toMatchObject({ text: counts(1) })
})

test('what died while no agent was there is told as an exit', async () => {
  await runActor(world, actor, actor.start(1))
  await world.die()
  await world.runtime.kill(actor.actorUid, 'memory')
  await world.restart()
  expect(await report(world, actor, 'Exited')).toMatchObject({ epoch: 1, sequence: 1 })
  await world.agent.idle()
  expect(await world.runtime.list()).toEqual([])
})

test('an unused admission is forgotten with its place', async () => {
  await world.command('Prepare', prepareOf(actor.start(1), 60_000))
  await world.agent.idle()
  await world.restart()
  await world.agent.idle()
  expect(await world.runtime.list()).toEqual([])
  expect((await inventory()).prepares).toEqual([])
})

test('a checkpoint that had ended well before the agent died is kept', async () => {
  await runActor(world, actor, actor.start(1))
  await throughGate(world, actor, 1)
  await world.die()
  await rewriteRecord({ phase: 'checkpointing', generation: 2 })
  const staging = join(world.dataDir, 'staging', `${actor.actorUid}-2-checkpoint`)
  expect((await world.runtime.checkpoint(actor.actorUid, staging)).kind).toBe('saved')
  await world.restart()
  const { snapshot } = await report(world, actor, 'Checkpointed')
  await runActor(world, actor, actor.start(2, snapshot))
  expect(await throughGate(world, actor, 2)).toMatchObject({ text: counts(2) })
})

test('a generation that was in its place before the agent died is reported', async () => {
  await runActor(world, actor, actor.start(1))
  const record = await readFile(recordFile(), 'utf8')
  await world.command('Checkpoint', checkpointOf(actor, 1, 2))
  const first = await report(world, actor, 'Checkpointed')
  await world.agent.idle()
  await world.die()
  await writeFile(recordFile(), record)
  await rewriteRecord({ phase: 'checkpointing', generation: 2 })
  await world.restart()
  expect((await report(world, actor, 'Checkpointed', 2)).snapshot).toEqual(first.snapshot)
})

test('a checkpoint that had not ended, with the sandbox dead, is an exit', async () => {
  await runActor(world, actor, actor.start(1))
  await world.die()
  await rewriteRecord({ phase: 'checkpointing', generation: 2 })
  await mkdir(join(world.dataDir, 'staging', `${actor.actorUid}-2-checkpoint`))
  await world.runtime.kill(actor.actorUid, 'killed')
  await world.restart()
  await report(world, actor, 'Exited')
  expect(typesOf(world, actor)).not.toContain('Checkpointed')
})

test('a checkpoint that had not begun, with the sandbox alive, keeps the gate closed and runs when asked again', async () => {
  await runActor(world, actor, actor.start(1))
  await throughGate(world, actor, 1)
  await world.die()
  await rewriteRecord({ phase: 'checkpointing', generation: 2 })
  await world.restart()
  expect(await throughGate(world, actor, 1)).toMatchObject({ status: 421 })
  await world.command('Checkpoint', checkpointOf(actor, 1, 2))
  const { snapshot } = await report(world, actor, 'Checkpointed')
  await runActor(world, actor, actor.start(2, snapshot))
  expect(await throughGate(world, actor, 2)).toMatchObject({ text: counts(2) })
})

test('partial downloads and folders without a manifest are removed', async () => {
  await world.die()
  await mkdir(join(world.dataDir, 'staging', 'x-3-fetch'), { recursive: true })
  await mkdir(join(world.dataDir, 'snapshots', 'x', '3'), { recursive: true })
  await world.restart()
  expect(await readdir(join(world.dataDir, 'staging'))).toEqual([])
  expect(await readdir(join(world.dataDir, 'snapshots', 'x'))).toEqual([])
})

test('what was asked while no agent was there is done from the stream, once, but for admissions', async () => {
  await world.die()
  const other = anActor('other')
  const messages = [
    message(1, 'Prepare', prepareOf(other.start(1))),
    message(2, 'Go', actor.start(1, undefined, aSpec())),
  ]
  const since: number[] = []
  const backlog: NodeAgentPorts['backlog'] = async function* read(sequence) {
    since.push(sequence)
    yield* messages.filter((missed) => missed.sequence > sequence)
  }
  await world.restart({ backlog })
  await report(world, actor, 'Restored')
  await until('the position', async () => {
    const position = await readFile(join(world.dataDir, 'node-commands-position'), 'utf8').catch(() => '')
    return position === '2' || undefined
  })
  expect((await inventory()).prepares).toEqual([])
  await world.restart({ backlog })
  await until('the second reading', () => since.length === 2 || undefined)
  expect(since).toEqual([0, 2])
})

const message = (sequence: number, verb: string, data: unknown) => ({
  sequence,
  subject: `torpor.v1.node.node-1.${verb}`,
  data: Buffer.from(JSON.stringify({ id: `missed-${sequence}`, type: verb, data })),
})
