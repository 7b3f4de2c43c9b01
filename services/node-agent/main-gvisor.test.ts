import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { gvisorForTests } from '../../infra/adapters/gvisor/runsc-for-tests.ts'
import { buildCounterImage } from '../../infra/images/build-counter-image.ts'
import { aPool, aSpec, anActor, checkpointOf, counts, namesOf, prepareOf } from './agent-world.ts'
import { ask, startProcessWorld } from './process-world.ts'

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
    const guard = await world.start('guard/main.ts')
    const first = await world.start('main.ts')
    expect(await world.command('SetWorkers', aPool())).toMatchObject({ ok: true })
    expect(await world.command('Prepare', prepareOf(actor.start(1, undefined, spec)))).toMatchObject({
      ok: true,
    })
    await world.command('Go', actor.start(1, undefined, spec))
    await world.report('Restored')
    expect(await ask(first.address, actor.actorUid, 1)).toBe(counts(1))

    await first.end('SIGKILL')
    const second = await world.start('main.ts')
    expect(await ask(second.address, actor.actorUid, 1)).toBe(counts(2))

    await world.command('Checkpoint', checkpointOf(actor, 1, 2))
    const { snapshot } = await world.report('Checkpointed')
    await world.command('Go', actor.start(2, snapshot, spec))
    const { phasesMs } = await world.report('Restored', 2)
    expect(Object.keys(phasesMs)).toContain('restore')
    expect(await ask(second.address, actor.actorUid, 2)).toBe(counts(3))

    await world.command('Checkpoint', checkpointOf(actor, 2, 3))
    const { snapshot: third } = await world.report('Checkpointed', 2)
    const { generation, manifestDigest, uri } = third
    await world.command('Upload', { ...namesOf(actor), generation, manifestDigest, uri })
    await world.report('Uploaded')
    await world.command('DropSnapshot', { ...namesOf(actor), generation })
    await world.report('SnapshotDropped')
    const completed = { ...third, storageState: 'SNAPSHOT_STORAGE_STATE_COMPLETED' as const }
    await world.command('Go', actor.start(3, completed, spec))
    await world.report('Restored', 3)
    expect(await ask(second.address, actor.actorUid, 3)).toBe(counts(4))

    await world.command('Terminate', { ...namesOf(actor), epoch: 1, sequence: 3 })
    await world.report('Terminated')
    await world.command('SetWorkers', { ...aPool(), workers: [] })
    expect(await second.end()).toBe(0)
    expect(await guard.end()).toBe(0)
    await world.close()
  })
})
