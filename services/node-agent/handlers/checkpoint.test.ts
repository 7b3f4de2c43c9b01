import { readdir, stat } from 'node:fs/promises'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { snapshotUri } from '@torpor/contracts'
import type { Inventory } from '@torpor/contracts'
import type { AgentWorld, TestActor } from '../agent-world.ts'
import {
  anActor,
  checkpointOf,
  counts,
  namesOf,
  report,
  runActor,
  startAgentWorld,
  throughGate,
  typesOf,
  until,
} from '../agent-world.ts'

let world: AgentWorld
let actor: TestActor
beforeEach(async () => {
  world = await startAgentWorld()
  actor = anActor()
  await runActor(world, actor, actor.start(1))
  await throughGate(world, actor, 1)
})
afterEach(() => world.close())

test('a checkpoint leaves a generation that is sealed soon, and no sandbox, and the actor goes on counting from it', async () => {
  await world.command('Checkpoint', checkpointOf(actor, 1, 2))
  const { snapshot, ...rest } = await report(world, actor, 'Checkpointed')
  expect(rest).toMatchObject({ epoch: 1, sequence: 1 })
  expect(snapshot).toMatchObject({
    generation: 2,
    owner: 'SNAPSHOT_OWNER_ACTOR',
    storageState: 'SNAPSHOT_STORAGE_STATE_PENDING',
    locality: 'node-1',
    uri: snapshotUri(actor.actorUid, 2),
  })
  expect(snapshot).not.toHaveProperty('manifestDigest')
  await world.agent.idle()
  expect(await world.runtime.list()).toEqual([])
  const folder = join(world.dataDir, 'snapshots', actor.actorUid, '2')
  const files = async () => (await readdir(folder)).toSorted().join(' ')
  const sealed = 'manifest.json memory.json rootfs.json volumes.json'
  await until('its manifest', async () => (await files()) === sealed || undefined)
  await runActor(world, actor, actor.start(2, snapshot))
  expect(await throughGate(world, actor, 2)).toMatchObject({ text: counts(2) })
})

test('the booking is free as soon as the checkpoint is reported', async () => {
  await world.command('Checkpoint', checkpointOf(actor, 1, 2))
  await report(world, actor, 'Checkpointed')
  const inventory = await world.command<Inventory>('Inventory', { actorUid: actor.actorUid })
  expect(inventory).toMatchObject({
    result: { sandboxes: [], snapshots: [{ generation: 2, uploading: false }] },
  })
})

test('the same checkpoint again reports the same generation again', async () => {
  await world.command('Checkpoint', checkpointOf(actor, 1, 2))
  const first = await report(world, actor, 'Checkpointed')
  await world.command('Checkpoint', checkpointOf(actor, 1, 2))
  expect(await report(world, actor, 'Checkpointed', 2)).toEqual(first)
})

test('a Go that comes late, after the checkpoint, runs nothing again', async () => {
  await world.command('Checkpoint', checkpointOf(actor, 1, 2))
  await report(world, actor, 'Checkpointed')
  await world.command('Go', actor.start(1))
  await report(world, actor, 'Checkpointed', 2)
  await world.agent.idle()
  expect(await world.runtime.list()).toEqual([])
})

test('an open request is waited for, and new ones get 421 meanwhile', async () => {
  const slow = throughGate(world, actor, 1, '/?slow-ms=300')
  await until('the request', () => world.gate.openCount(actor.actorUid) === 1 || undefined)
  await world.command('Checkpoint', checkpointOf(actor, 1, 2))
  await until('the closed gate', async () => (await throughGate(world, actor, 1)).status === 421 || undefined)
  expect(await slow).toEqual({ status: 200, text: counts(2) })
  await report(world, actor, 'Checkpointed')
})

test('with drain refuse an open request abandons it, and the actor serves on', async () => {
  const slow = throughGate(world, actor, 1, '/?slow-ms=500')
  await until('the request', () => world.gate.openCount(actor.actorUid) === 1 || undefined)
  await world.command('Checkpoint', checkpointOf(actor, 1, 2, 'refuse'))
  expect(await report(world, actor, 'CheckpointAbandoned')).toMatchObject({
    generation: 2,
    code: 'SUSPEND_REFUSED',
  })
  expect(await slow).toMatchObject({ text: counts(2) })
  expect(await throughGate(world, actor, 1)).toMatchObject({ text: counts(3) })
})

test('without disk for the worst case it is abandoned', async () => {
  world.freeBytes = 1280 * 2 ** 20 - 1
  await world.command('Checkpoint', checkpointOf(actor, 1, 2))
  expect(await report(world, actor, 'CheckpointAbandoned')).toMatchObject({ code: 'SUSPEND_NO_SPACE' })
  expect(await throughGate(world, actor, 1)).toMatchObject({ text: counts(2) })
  world.freeBytes += 1
  await world.command('Checkpoint', checkpointOf(actor, 1, 2))
  await report(world, actor, 'Checkpointed')
})

test('a checkpoint that fails with the sandbox alive leaves it serving, and watched', async () => {
  world.runtime.faults.failCheckpointsAlive = 1
  await world.command('Checkpoint', checkpointOf(actor, 1, 2))
  expect(await report(world, actor, 'CheckpointAbandoned')).toMatchObject({ code: 'SUSPEND_FAILED' })
  expect(await throughGate(world, actor, 1)).toMatchObject({ text: counts(2) })
  await world.runtime.kill(actor.actorUid, 'memory')
  expect(await report(world, actor, 'Exited')).toMatchObject({ code: 'PROCESS_EXITED' })
})

test('a checkpoint in which the sandbox dies is an exit, and frees everything', async () => {
  world.runtime.faults.failCheckpointsDead = 1
  await world.command('Checkpoint', checkpointOf(actor, 1, 2))
  expect(await report(world, actor, 'Exited')).toMatchObject({ epoch: 1, sequence: 1 })
  await world.agent.idle()
  expect(await world.runtime.list()).toEqual([])
  await world.command('Checkpoint', checkpointOf(actor, 1, 2))
  await report(world, actor, 'Exited', 2)
  expect(typesOf(world, actor)).not.toContain('Checkpointed')
})

test('a process that ends during the drain is an exit', async () => {
  const slow = throughGate(world, actor, 1, '/?slow-ms=60000').catch(() => undefined)
  await until('the request', () => world.gate.openCount(actor.actorUid) === 1 || undefined)
  await world.command('Checkpoint', { ...checkpointOf(actor, 1, 2), drainMs: 60_000 })
  await world.runtime.kill(actor.actorUid, 'killed')
  expect(await report(world, actor, 'Exited')).toMatchObject({ sequence: 1 })
  await slow
})

test('a terminate ends a drain that waits', async () => {
  const slow = throughGate(world, actor, 1, '/?slow-ms=60000').catch(() => undefined)
  await until('the request', () => world.gate.openCount(actor.actorUid) === 1 || undefined)
  await world.command('Checkpoint', { ...checkpointOf(actor, 1, 2), drainMs: 60_000 })
  await world.command('Terminate', { ...namesOf(actor), epoch: 1, sequence: 1 })
  await report(world, actor, 'Terminated')
  await slow
  expect(await world.runtime.list()).toEqual([])
})

test('of an assignment that never ran here is an exit', async () => {
  const other = anActor('other')
  await world.command('Checkpoint', checkpointOf(other, 1, 2))
  expect(await report(world, other, 'Exited')).toMatchObject({ epoch: 1, sequence: 1 })
})

test('nothing of a checkpoint is left in the staging folder', async () => {
  await world.command('Checkpoint', checkpointOf(actor, 1, 2))
  await report(world, actor, 'Checkpointed')
  await world.agent.idle()
  expect(await readdir(join(world.dataDir, 'staging'))).toEqual([])
  await expect(stat(join(world.dataDir, 'slots', `${actor.actorUid}.json`))).rejects.toThrow('ENOENT')
})
