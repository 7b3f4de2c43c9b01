import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { readSettings } from '@torpor/contracts'
import { describe, expect, onTestFinished, test } from 'vitest'
import { gvisorForTests } from '../../infra/adapters/gvisor/runsc-for-tests.ts'
import { buildCounterImage } from '../../infra/images/build-counter-image.ts'
import { aPool, aSpec, anActor, checkpointOf, counts, namesOf, prepareOf } from './agent-world.ts'
import type { TestActor } from './agent-world.ts'
import { findHierarchy, foldersOf } from './cgroups/hierarchy.ts'
import { nodeConfig } from './config.ts'
import { NODE, ask, startProcessWorld } from './process-world.ts'
import type { ProcessWorld } from './process-world.ts'

const found = await gvisorForTests()

describe.skipIf(found.runscPath === undefined)(`a node with gVisor ${found.reason}`, () => {
  test('an actor outlives the agent, sleeps on the node, wakes from node and store, and leaves nothing', async () => {
    const world = await startProcessWorld({
      TORPOR_SANDBOX: 'gvisor',
      TORPOR_RUNSC: found.runscPath ?? '',
      TORPOR_NODE_CPU_MILLI: '4000',
    })
    const { reference } = await buildCounterImage(join(world.folder, 'image'))
    const spec = aSpec({
      container: {
        image: reference,
        volumeMounts: [{ name: 'data', mountPath: '/data' }],
        wakeupProbe: { httpGet: { path: '/healthz', port: 8080 }, timeout: '20s' },
      },
      spec: { volumes: [{ name: 'data', durableDir: {} }] },
    })
    const actor = anActor()
    onTestFinished(async () => {
      await endActor(world, actor).catch(() => undefined)
      await world.close()
    })
    const guard = await world.start('guard/main.ts')
    const first = await world.start('main.ts')
    expect(await world.command('SetWorkers', aPool())).toMatchObject({ ok: true })
    expect(await world.command('Prepare', prepareOf(actor.start(1, undefined, spec)))).toMatchObject({
      ok: true,
    })
    await world.command('Go', actor.start(1, undefined, spec))
    await world.report('Restored', { sequence: 1 })
    expect(await ask(first.address, actor.actorUid, 1)).toBe(counts(1))

    await first.end('SIGKILL')
    const second = await world.start('main.ts')
    expect(await ask(second.address, actor.actorUid, 1)).toBe(counts(2))

    await world.command('Checkpoint', checkpointOf(actor, 1, 2))
    const { snapshot } = await world.report('Checkpointed', { sequence: 1 })
    await world.command('Go', actor.start(2, snapshot, spec))
    const { phasesMs } = await world.report('Restored', { sequence: 2 })
    expect(Object.keys(phasesMs)).toContain('restore')
    expect(await ask(second.address, actor.actorUid, 2)).toBe(counts(3))

    await world.command('Checkpoint', checkpointOf(actor, 2, 3))
    const { snapshot: third } = await world.report('Checkpointed', { sequence: 2 })
    const { generation, uri } = third
    await world.command('Upload', { ...namesOf(actor), generation, uri })
    const { manifestDigest } = await world.report('Uploaded', { generation })
    await world.command('DropSnapshot', { ...namesOf(actor), generation })
    await world.report('SnapshotDropped', { generation })
    const completed = { ...third, manifestDigest, storageState: 'SNAPSHOT_STORAGE_STATE_COMPLETED' as const }
    await world.command('Go', actor.start(3, completed, spec))
    await world.report('Restored', { sequence: 3 })
    expect(await ask(second.address, actor.actorUid, 3)).toBe(counts(4))

    await endActor(world, actor)
    expect(await second.end()).toBe(0)
    expect(await guard.end()).toBe(0)
    expect(await cgroupsOf(world)).toEqual([])
  })
})

async function endActor(world: ProcessWorld, actor: TestActor): Promise<void> {
  await world.command('Terminate', { ...namesOf(actor), epoch: 1, sequence: 99 })
  await world.report('Terminated', { sequence: 99 })
}

/** Control groups of the node that are still there. */
async function cgroupsOf(world: ProcessWorld): Promise<readonly string[]> {
  const hierarchy = await findHierarchy()
  const settings = readSettings({ TORPOR_NAME: NODE, TORPOR_DATA_DIR: join(world.folder, 'node') })
  return hierarchy === undefined
    ? []
    : foldersOf(hierarchy, nodeConfig(settings).cgroup).filter((folder) => existsSync(folder))
}
