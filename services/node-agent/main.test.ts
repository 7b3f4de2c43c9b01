import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { readdir } from 'node:fs/promises'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { expect, onTestFinished, test } from 'vitest'
import { aPool, anActor, checkpointOf, counts, namesOf, prepareOf, until } from './agent-world.ts'
import { ask, startProcessWorld } from './process-world.ts'

test('a node whose agent was killed does what it was asked meanwhile, and goes on from the store', async () => {
  const world = await startProcessWorld({ TORPOR_SANDBOX: 'simulated' })
  onTestFinished(() => world.close())
  const guard = await world.start('guard/main.ts')
  const first = await world.start('main.ts')
  const actor = anActor()
  await world.command('SetWorkers', aPool())
  await world.command('Prepare', prepareOf(actor.start(1)))
  await world.command('Go', actor.start(1))
  await world.report('Restored', { sequence: 1 })
  expect(await ask(first.address, actor.actorUid, 1)).toBe(counts(1))
  await world.command('Checkpoint', checkpointOf(actor, 1, 2))
  const { snapshot } = await world.report('Checkpointed', { sequence: 1 })
  const { generation, uri } = snapshot
  await world.command('Upload', { ...namesOf(actor), generation, uri })
  const { manifestDigest } = await world.report('Uploaded', { generation })
  await world.command('DropSnapshot', { ...namesOf(actor), generation })
  await world.report('SnapshotDropped', { generation })

  await first.end('SIGKILL')
  const completed = { ...snapshot, manifestDigest, storageState: 'SNAPSHOT_STORAGE_STATE_COMPLETED' as const }
  world.publish('Go', actor.start(2, completed))
  const second = await world.start('main.ts')
  await world.report('Restored', { sequence: 2 })
  expect(await ask(second.address, actor.actorUid, 2)).toBe(counts(2))
  expect(await second.end()).toBe(0)
  expect(await guard.end()).toBe(0)
})

test('an agent that is killed between its report and the hashing loses nothing: the next one hashes, uploads and wakes', async () => {
  const world = await startProcessWorld({ TORPOR_SANDBOX: 'simulated' })
  onTestFinished(() => world.close())
  await world.start('guard/main.ts')
  const first = await world.start('main.ts')
  const actor = anActor()
  await world.command('SetWorkers', aPool())
  await world.command('Go', actor.start(1))
  await world.report('Restored', { sequence: 1 })
  expect(await ask(first.address, actor.actorUid, 1)).toBe(counts(1))
  await world.command('Checkpoint', checkpointOf(actor, 1, 2))
  const { snapshot } = await world.report('Checkpointed', { sequence: 1 })
  await first.end('SIGKILL')
  const folder = join(world.folder, 'node', 'snapshots', actor.actorUid, '2')
  const files = async () => (await readdir(folder)).toSorted()
  expect(await files()).toContain('unsealed.json')
  expect(await files()).not.toContain('manifest.json')

  const second = await world.start('main.ts')
  await until('its manifest', async () => {
    const names = await files()
    return (names.includes('manifest.json') && !names.includes('unsealed.json')) || undefined
  })
  const { generation, uri } = snapshot
  await world.command('Upload', { ...namesOf(actor), generation, uri })
  const { manifestDigest } = await world.report('Uploaded', { generation })
  await world.command('DropSnapshot', { ...namesOf(actor), generation })
  await world.report('SnapshotDropped', { generation })
  const storageState = 'SNAPSHOT_STORAGE_STATE_COMPLETED' as const
  await world.command('Go', actor.start(2, { ...snapshot, manifestDigest, storageState }))
  await world.report('Restored', { sequence: 2 })
  expect(await ask(second.address, actor.actorUid, 2)).toBe(counts(2))
})

test('a node without a name says which setting is missing, in one line', async () => {
  const part = spawn(process.execPath, [join(import.meta.dirname, 'main.ts')], {
    stdio: ['ignore', 'ignore', 'pipe'],
    env: { PATH: process.env['PATH'] },
  })
  const exit = once(part, 'exit')
  const lines = part.stderr === null ? [] : await Array.fromAsync(createInterface({ input: part.stderr }))
  const [code] = (await exit) as [number]
  expect(code).not.toBe(0)
  expect(lines).toHaveLength(1)
  expect(lines[0]).toContain('TORPOR_NAME')
})
