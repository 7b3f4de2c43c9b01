import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import type { Admission, Inventory } from '@torpor/contracts'
import type { AgentWorld } from '../agent-world.ts'
import {
  aPool,
  aSpec,
  anActor,
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

let world: AgentWorld
beforeEach(async () => {
  world = await startAgentWorld()
})
afterEach(() => world.close())

const inventory = async (): Promise<Inventory> => {
  const reply = await world.command<Inventory>('Inventory', {})
  if (!reply.ok) throw new Error(reply.error.message)
  return reply.result
}

describe('Prepare', () => {
  test('admits with the address of the gate, and runs nothing', async () => {
    const actor = anActor()
    const reply = await world.command<Admission>('Prepare', prepareOf(actor.start(1)))
    expect(reply).toEqual({
      ok: true,
      result: {
        prepareId: 'prepare-1',
        node: 'node-1',
        worker: 'pool-0',
        gateAddress: world.gate.address,
      },
    })
    await world.agent.idle()
    expect(await world.runtime.list()).toMatchObject([{ sandboxId: actor.actorUid, started: false }])
    expect((await inventory()).prepares).toEqual([{ actorUid: actor.actorUid, prepareId: 'prepare-1' }])
  })

  test('admits until the worker is full, and names what lacks', async () => {
    for (const name of ['a', 'b'])
      expect(await world.command('Prepare', prepareOf(anActor(name).start(1)))).toMatchObject({ ok: true })
    expect(await world.command('Prepare', prepareOf(anActor('c').start(1)))).toMatchObject({
      ok: false,
      error: { code: 'NO_CAPACITY', detail: 'cpu of pool-0' },
    })
  })

  test('overcommit makes room, the number of actors bounds it', async () => {
    await world.command('SetWorkers', aPool({ overcommit: 3, maxActors: 3 }))
    for (const name of ['a', 'b', 'c'])
      expect(await world.command('Prepare', prepareOf(anActor(name).start(1)))).toMatchObject({ ok: true })
    expect(await world.command('Prepare', prepareOf(anActor('d').start(1)))).toMatchObject({
      ok: false,
      error: { code: 'NO_CAPACITY', detail: 'maxActors of pool-0' },
    })
  })

  test('refuses a worker, a class and a runtime that are not here', async () => {
    const go = anActor().start(1)
    const elsewhere = { ...prepareOf(go), worker: 'pool-9' }
    expect(await world.command('Prepare', elsewhere)).toMatchObject({ error: { code: 'NO_CAPACITY' } })
    const microvm = aSpec({ spec: { sandboxClasses: [{ name: 'microvm' }] } })
    const otherClass = prepareOf({ ...go, spec: microvm })
    expect(await world.command('Prepare', otherClass)).toMatchObject({ error: { code: 'CLASS_UNKNOWN' } })
    const snapshot = await aSnapshot()
    const attributes = [{ key: 'simulated', value: '2' }]
    const sandboxRuntime = { sandboxClass: 'gvisor' as const, version: { attributes } }
    const other = prepareOf(anActor().start(1, { ...snapshot, sandboxRuntime }))
    expect(await world.command('Prepare', other)).toMatchObject({
      error: { code: 'RUNTIME_INCOMPATIBLE', detail: 'simulated' },
    })
  })

  test('gives everything back when no Go comes in time', async () => {
    const actor = anActor()
    await world.command('Prepare', prepareOf(actor.start(1), 1))
    await until(
      'the end of the admission',
      async () => (await inventory()).prepares.length === 0 || undefined,
    )
    await world.agent.idle()
    expect(await world.runtime.list()).toEqual([])
  })

  test('gives everything back when it is abandoned, but not for another admission', async () => {
    const actor = anActor()
    await world.command('Prepare', prepareOf(actor.start(1)))
    await world.command('Abandon', { ...namesOf(actor), prepareId: 'another' })
    expect((await inventory()).prepares).toHaveLength(1)
    await world.command('Abandon', { ...namesOf(actor), prepareId: 'prepare-1' })
    await world.agent.idle()
    expect((await inventory()).prepares).toEqual([])
    expect(await world.runtime.list()).toEqual([])
  })

  test('an unknown field, an unknown verb and no JSON are each refused', async () => {
    const more = { ...prepareOf(anActor().start(1)), more: 1 }
    expect(await world.command('Prepare', more)).toMatchObject({ error: { code: 'COMMAND_MALFORMED' } })
    expect(await world.command('Dance' as 'Go', {})).toMatchObject({ error: { code: 'COMMAND_UNKNOWN' } })
    const bytes = await world.bus.request('torpor.v1.node.node-1.Go', Buffer.from('{'), { timeoutMs: 1_000 })
    expect(Buffer.from(bytes).toString()).toContain('COMMAND_MALFORMED')
  })
})

describe('Go', () => {
  test('starts from the image, opens the gate and reports phases that sum up', async () => {
    const actor = anActor()
    await runActor(world, actor, actor.start(1))
    expect(await throughGate(world, actor, 1)).toEqual({ status: 200, text: counts(1) })
    const { phasesMs, ...rest } = await report(world, actor, 'Restored')
    expect(rest).toEqual({ epoch: 1, sequence: 1 })
    const { total = 0, ...parts } = phasesMs
    expect(Object.keys(parts).toSorted()).toEqual(
      ['admit', 'fetch', 'open', 'prepare', 'probe', 'queue', 'restore', 'verify'].toSorted(),
    )
    expect(Object.values(parts).reduce((sum, ms) => sum + ms, 0)).toBeCloseTo(total, 6)
    expect(Math.min(...Object.values(parts))).toBeGreaterThanOrEqual(0)
  })

  test('without a living admission admits anew', async () => {
    const actor = anActor()
    await world.command('Go', actor.start(1))
    await report(world, actor, 'Restored')
    expect(await throughGate(world, actor, 1)).toMatchObject({ text: counts(1) })
  })

  test('without room reports that nothing ran, and runs when it is asked again with room', async () => {
    for (const name of ['a', 'b']) await world.command('Prepare', prepareOf(anActor(name).start(1), 60_000))
    const actor = anActor('c')
    await world.command('Go', actor.start(1))
    expect(await report(world, actor, 'RestoreFailed')).toMatchObject({ code: 'NO_CAPACITY', ran: false })
    await world.command('SetWorkers', aPool({ overcommit: 2 }))
    await world.command('Go', actor.start(1))
    await report(world, actor, 'Restored')
  })

  test('the same again reports Restored again and runs nothing twice', async () => {
    const actor = anActor()
    await runActor(world, actor, actor.start(1))
    await throughGate(world, actor, 1)
    await world.command('Go', actor.start(1))
    const again = await report(world, actor, 'Restored', 2)
    expect(again).toEqual(await report(world, actor, 'Restored', 1))
    expect(await throughGate(world, actor, 1)).toMatchObject({ text: counts(2) })
  })

  test('an older assignment is refused and changes nothing', async () => {
    const actor = anActor()
    await runActor(world, actor, actor.start(5))
    for (const older of [{ sequence: 4 }, { epoch: 0, sequence: 9 }])
      expect(await world.command('Go', { ...actor.start(5), ...older })).toMatchObject({
        ok: false,
        error: { code: 'ASSIGNMENT_OLD' },
      })
    expect(await throughGate(world, actor, 5)).toMatchObject({ text: counts(1) })
  })

  test('a newer assignment ends what still runs and starts anew', async () => {
    const actor = anActor()
    await runActor(world, actor, actor.start(1))
    await throughGate(world, actor, 1)
    await world.command('Go', actor.start(2))
    await report(world, actor, 'Restored', 2)
    expect(await throughGate(world, actor, 1)).toMatchObject({ status: 421 })
    expect(await throughGate(world, actor, 2)).toMatchObject({ text: counts(1) })
  })

  test('a process that ends at once is told with its exit code, and leaves nothing', async () => {
    const actor = anActor()
    const go = actor.start(1, undefined, aSpec({ env: { TORPOR_SIMULATED_EXIT: '3' } }))
    await world.command('Go', go)
    expect(await report(world, actor, 'RestoreFailed')).toEqual({
      epoch: 1,
      sequence: 1,
      ran: true,
      code: 'PROCESS_EXITED',
      message: 'process ended with code 3; last line: listening on 8080',
    })
    await world.agent.idle()
    expect(await world.runtime.list()).toEqual([])
    expect((await inventory()).sandboxes).toEqual([])
  })

  test('a process that never answers its probe is told, and a Go again tells it again', async () => {
    const actor = anActor()
    const probe = { httpGet: { path: '/healthz', port: 8080 }, timeout: '300ms' }
    const spec = aSpec({ env: { TORPOR_SIMULATED_SILENT: '1' }, container: { wakeupProbe: probe } })
    await world.command('Go', actor.start(1, undefined, spec))
    expect(await report(world, actor, 'RestoreFailed')).toMatchObject({ code: 'PROBE_FAILED', ran: true })
    await world.command('Go', actor.start(1, undefined, spec))
    expect(await report(world, actor, 'RestoreFailed', 2)).toMatchObject({ code: 'PROBE_FAILED' })
    expect(typesOf(world, actor)).toEqual(['RestoreFailed', 'RestoreFailed'])
  })

  test('an image that does not exist is named, and nothing ran', async () => {
    const actor = anActor()
    const spec = aSpec({ container: { image: 'oci:/no/such/folder:v1' } })
    await world.command('Go', actor.start(1, undefined, spec))
    expect(await report(world, actor, 'RestoreFailed')).toMatchObject({ code: 'IMAGE_UNKNOWN', ran: false })
  })

  test('without a probe a connect to the first port is enough', async () => {
    const actor = anActor()
    const spec = aSpec({ container: { wakeupProbe: undefined } })
    await runActor(world, actor, actor.start(1, undefined, spec))
    expect(await throughGate(world, actor, 1)).toMatchObject({ text: counts(1) })
  })
})

describe('Terminate', () => {
  test('ends what runs, keeps nothing, and says so again when it is asked again', async () => {
    const actor = anActor()
    await runActor(world, actor, actor.start(1))
    await world.command('Terminate', { ...namesOf(actor), epoch: 1, sequence: 1 })
    await report(world, actor, 'Terminated')
    expect(await throughGate(world, actor, 1)).toMatchObject({ status: 421 })
    expect(await world.runtime.list()).toEqual([])
    await world.command('Terminate', { ...namesOf(actor), epoch: 1, sequence: 1 })
    await report(world, actor, 'Terminated', 2)
  })

  test('of nothing is answered too', async () => {
    const actor = anActor()
    await world.command('Terminate', { ...namesOf(actor), epoch: 1, sequence: 1 })
    expect(await report(world, actor, 'Terminated')).toEqual({ epoch: 1, sequence: 1 })
  })

  test('wins over a start that is still waiting for its probe', async () => {
    const actor = anActor()
    const spec = aSpec({ env: { TORPOR_SIMULATED_SILENT: '1' } })
    await world.command('Go', actor.start(1, undefined, spec))
    await until('the process', async () => (await world.runtime.list())[0]?.started || undefined)
    await world.command('Terminate', { ...namesOf(actor), epoch: 1, sequence: 1 })
    await report(world, actor, 'Terminated')
    expect(typesOf(world, actor)).toEqual(['Terminated'])
    expect(await world.runtime.list()).toEqual([])
  })

  test('with an older assignment is refused', async () => {
    const actor = anActor()
    await runActor(world, actor, actor.start(2))
    const old = await world.command('Terminate', { ...namesOf(actor), epoch: 1, sequence: 1 })
    expect(old).toMatchObject({ error: { code: 'ASSIGNMENT_OLD' } })
    expect(await throughGate(world, actor, 2)).toMatchObject({ status: 200 })
  })
})

async function aSnapshot() {
  const actor = anActor('source')
  await runActor(world, actor, actor.start(1))
  const drain = { generation: 2, templateUid: 't', drain: 'drain', drainMs: 1_000 }
  await world.command('Checkpoint', { ...namesOf(actor), epoch: 1, sequence: 1, ...drain })
  return (await report(world, actor, 'Checkpointed')).snapshot
}
