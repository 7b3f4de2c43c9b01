import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import type { Actor, Reply } from '@torpor/contracts'
import { actorRef, ANSWER_WHEN_HEADER, LIMITS, SUBJECTS } from '@torpor/contracts'
import type { ActorHandle } from '@torpor/sdk'
import { COUNTER_SPEC, condition, startTestSystem } from './testing/system.ts'
import type { TestSystem } from './testing/system.ts'

const row = ({
  owner,
  storageState,
  generation,
}: {
  owner: string
  storageState: string
  generation: number
}) =>
  `${owner.replace('SNAPSHOT_OWNER_', '')} ${storageState.replace('SNAPSHOT_STORAGE_STATE_', '')} gen${generation}`

describe('a whole loop on a real bus with simulated sandboxes', () => {
  let system: TestSystem
  beforeAll(async () => {
    system = await startTestSystem()
    await system.makeTemplate()
  })
  afterAll(() => system?.close())

  test('an actor is born at rest, wakes, sleeps, and goes on where it stopped', async () => {
    const handle = system.client.actor('demo', 'story')
    const born = await handle.create({ template: 'counter' })
    expect(born.state).toBe('ACTOR_STATE_SUSPENDED')
    expect(born.snapshots.map(row)).toEqual(['TAG COMPLETED gen1'])

    const awake = await handle.resume()
    expect(awake.state).toBe('ACTOR_STATE_RUNNING')
    expect(await system.call(awake)).toBe('memory count: 1 | file count: 1 | rootfs count: 1')

    const asleep = await handle.suspend({ mode: 'async' })
    expect(asleep.snapshots.map(row)).toEqual(['TAG COMPLETED gen1', 'ACTOR PENDING gen2'])
    const stored = await system.until('story', ({ snapshots }) => snapshots.length === 1)
    expect(stored.snapshots.map(row)).toEqual(['ACTOR COMPLETED gen2'])

    await handle.resume()
    const durable = await handle.suspend({ mode: 'sync' })
    expect(durable.snapshots.map(row)).toEqual(['ACTOR COMPLETED gen3'])
    await system.until('story', ({ snapshots }) => snapshots.every(({ locality }) => locality === ''))
    expect(await system.call(await handle.resume())).toBe('memory count: 2 | file count: 2 | rootfs count: 2')
  })

  test('a second resume joins the first, and an actor that runs is left as it is', async () => {
    const handle = system.client.actor('demo', 'joined')
    await handle.create({ template: 'counter' })
    const awake = await Promise.all(Array.from({ length: 5 }, () => handle.resume()))
    expect(new Set(awake.map(({ worker }) => worker?.sequence)).size).toBe(1)
    const again = await handle.resume()
    expect(again.version).toBe(awake[0]?.version)
  })

  test('a deleted actor leaves nothing on the node, and its name is gone', async () => {
    const handle = system.client.actor('demo', 'doomed')
    await handle.create({ template: 'counter' })
    const { uid } = await handle.resume()
    await handle.suspend({ mode: 'sync' })
    await handle.delete()
    await expect(handle.get()).rejects.toMatchObject({ code: 'ACTOR_GONE' })
    expect((await system.runtime.list()).map(({ sandboxId }) => sandboxId)).not.toContain(uid)
  })

  test('a process that ends leaves RUNNING with its reason, and a revert brings it back', async () => {
    const handle = system.client.actor('demo', 'fragile')
    await handle.create({ template: 'counter' })
    const awake = await handle.resume()
    await system.call(awake)
    await system.runtime.kill(awake.uid, 'memory')
    const crashed = await system.until('fragile', ({ state }) => state === 'ACTOR_STATE_CRASHED')
    expect(crashed.crash?.message).not.toBe('')
    await expect(handle.resume()).rejects.toMatchObject({ code: 'ACTOR_CRASHED' })
    const reverted = await handle.revert()
    expect(reverted.state).toBe('ACTOR_STATE_SUSPENDED')
    expect(await system.call(await handle.resume())).toMatch(/memory count: 1 /)
  })

  test('an actor whose policy is restart comes back by itself', async () => {
    const metadata = { atespace: 'demo', name: 'healing' }
    const spec = { ...COUNTER_SPEC, crashPolicy: 'restart' }
    const document = { apiVersion: 'torpor.dev/v1', kind: 'ActorTemplate', metadata, spec }
    await system.client.apply(document as never)
    await condition('the golden snapshot', async () => {
      const { golden } = await system.client.template('demo', 'healing').get()
      return golden.phase === 'READY' ? true : undefined
    })
    const handle = system.client.actor('demo', 'healer')
    await handle.create({ template: 'healing' })
    const { uid, worker } = await handle.resume()
    await system.runtime.kill(uid, 'killed')
    const back = await system.until('healer', (actor) => {
      return actor.state === 'ACTOR_STATE_RUNNING' && actor.worker?.sequence !== worker?.sequence
    })
    expect(await system.call(back)).toMatch(/memory count: 1 /)
  })

  test('whoever asks for the place of an actor only is answered while it starts there', async () => {
    const handle = system.client.actor('demo', 'placed')
    await handle.create({ template: 'counter' })
    const ref = actorRef('demo', 'placed')
    const bytes = await system.nats.bus.request(SUBJECTS.rpc(ref, 'ResumeActor'), Buffer.from('{}'), {
      timeoutMs: LIMITS.rpcTimeoutMs,
      headers: { [ANSWER_WHEN_HEADER]: 'placed' },
    })
    const reply = JSON.parse(Buffer.from(bytes).toString('utf8')) as Reply<{ actor: Actor }>
    const place = reply.ok ? reply.result.actor : undefined
    expect(place).toMatchObject({ state: 'ACTOR_STATE_RESUMING', worker: { node: 'node-1' } })
    const awake = await handle.resume()
    expect(awake.state).toBe('ACTOR_STATE_RUNNING')
    expect(awake.worker?.sequence).toBe(place?.worker?.sequence)
  })

  test.each([
    ['suspend', (handle: ActorHandle) => handle.suspend({ mode: 'async' })],
    ['revert', (handle: ActorHandle) => handle.revert()],
  ])('a %s that comes while a resume ends waits for it', async (verb, ask) => {
    const handle = system.client.actor('demo', `hasty-${verb}`)
    await handle.create({ template: 'counter' })
    const letGo = system.runtime.holdRestores()
    const waking = handle.resume()
    await system.until(handle.ref.name, ({ state }) => state === 'ACTOR_STATE_RESUMING')
    const asked = ask(handle)
    // The owner has read the second command when it answers a question asked after it.
    await handle.get()
    letGo()
    expect((await asked).state).toBe('ACTOR_STATE_SUSPENDED')
    await waking.catch(() => undefined)
  })

  test.each([
    [
      'an unknown template',
      () => system.client.actor('demo', 'x').create({ template: 'nothing' }),
      'TEMPLATE_UNKNOWN',
    ],
    [
      'an unknown atespace',
      () => system.client.actor('nowhere', 'x').create({ template: { atespace: 'demo', name: 'counter' } }),
      'ATESPACE_UNKNOWN',
    ],
    ['an unknown actor', () => system.client.actor('demo', 'nobody').resume(), 'ACTOR_UNKNOWN'],
    ['a name that is no label', () => system.client.actor('demo', 'No_Label').get(), 'NAME_INVALID'],
    [
      'a second create',
      () => system.client.actor('demo', 'story').create({ template: 'counter' }),
      'ALREADY_EXISTS',
    ],
    ['a revert at rest', () => system.client.actor('demo', 'resting').revert(), 'ACTOR_STATE_CONFLICT'],
  ])('%s is refused and changes nothing', async (_, ask, code) => {
    await system.client
      .actor('demo', 'resting')
      .create({ template: 'counter' })
      .catch(() => undefined)
    const before = await system.client.actor('demo', 'resting').get()
    await expect(ask()).rejects.toMatchObject({ code })
    expect(await system.client.actor('demo', 'resting').get()).toEqual(before)
  })

  test('another control plane takes its share, and hands it back at its end', async () => {
    const second = await system.startPlane('plane-2')
    const handle = system.client.actor('demo', 'shared')
    await handle.create({ template: 'counter' })
    expect((await handle.resume()).state).toBe('ACTOR_STATE_RUNNING')
    await second.close()
    expect((await handle.suspend({ mode: 'async' })).state).toBe('ACTOR_STATE_SUSPENDED')
  })

  test('a killed bus comes back, and with it everything', async () => {
    const handle = system.client.actor('demo', 'patient')
    await handle.create({ template: 'counter' })
    await system.server.kill()
    await system.server.restart()
    const awake = await condition('a wake after the restart', () => handle.resume())
    expect(awake.state).toBe('ACTOR_STATE_RUNNING')
  })
})
