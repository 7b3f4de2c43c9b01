import type { Actor, InventorySandbox } from '@torpor/contracts'
import { refuse } from '@torpor/contracts'
import type { ActorHandle } from '@torpor/sdk'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import type { AskedOfNode, ScriptedNode } from './testing/scripted-node.ts'
import { startScriptedNode } from './testing/scripted-node.ts'
import { COUNTER_SPEC, QUICK, condition, startTestSystem } from './testing/system.ts'
import type { TestSystem } from './testing/system.ts'

const LIMITS_HERE = { ...QUICK, nodeSuspectMs: 2_500, nodeLostMs: 6_000, capacityPublishMs: 300 }

const asksOf = ({ asked }: ScriptedNode, verb: string, uid: string): readonly AskedOfNode[] =>
  asked.filter((ask) => ask.verb === verb && ask.data['actorUid'] === uid)
const sandboxOf = (actor: Actor): InventorySandbox => ({
  actorUid: actor.uid,
  atespace: actor.atespace,
  name: actor.name,
  ...tokenOf(actor),
  phase: 'running',
})
const tokenOf = ({ worker }: Actor) => ({ epoch: worker?.epoch ?? 0, sequence: worker?.sequence ?? 0 })

describe('nodes that say nothing, or too much', () => {
  let system: TestSystem
  let node: ScriptedNode
  let actors = 0

  /** The real node makes the golden snapshot, leaves a suspended actor behind and ends; scripted ones take over. */
  let left: ActorHandle
  let toDelete: ActorHandle
  const born = async (): Promise<ActorHandle> => {
    const handle = system.client.actor('demo', `actor-${(actors += 1)}`)
    await handle.create({ template: 'counter' })
    return handle
  }
  beforeAll(async () => {
    system = await startTestSystem(LIMITS_HERE)
    await system.makeTemplate({ ...COUNTER_SPEC, snapshotConfig: { uploadDelay: '1h', detachDelay: '2h' } })
    left = await born()
    toDelete = await born()
    for (const handle of [left, toDelete]) {
      await handle.resume()
      await handle.suspend({ mode: 'async' })
    }
    await system.stopNode()
    const { golden } = await system.client.template('demo', 'counter').get()
    const runtime = golden.snapshot?.sandboxRuntime
    if (runtime === undefined) throw new Error('no golden snapshot')
    node = await startScriptedNode(system.nats.bus, 'scripted', runtime)
  })
  afterAll(async () => {
    node?.stop()
    await system?.close()
  })

  const taken = (verb: string, uid: string): Promise<AskedOfNode> =>
    condition(`${verb} of ${uid}`, async () => asksOf(node, verb, uid)[0])
  /** Asks for a wake, and gives the actor as soon as it is placed. */
  const placed = async (handle: ActorHandle): Promise<Actor> => {
    handle.resume().catch(() => undefined)
    const actor = await system.until(handle.ref.name, ({ state }) => state === 'ACTOR_STATE_RESUMING')
    await taken('Go', actor.uid)
    return actor
  }
  const running = async (handle: ActorHandle): Promise<Actor> => {
    const actor = await placed(handle)
    node.sandboxes.push(sandboxOf(actor))
    await node.report(actor, 'Restored', { ...tokenOf(actor), phasesMs: {} })
    return system.until(handle.ref.name, ({ state }) => state === 'ACTOR_STATE_RUNNING')
  }
  const inquiries = (): number => node.asked.filter(({ verb }) => verb === 'Inventory').length
  const inquired = async (more: number): Promise<void> => {
    const wanted = inquiries() + more
    await condition('inquiries', async () => (inquiries() >= wanted ? true : undefined))
  }

  test('a snapshot that only a lost node has is waited for, with the reason', async () => {
    const refusal = await condition('the node to be lost', async () => {
      const cause = await left.resume({ timeoutMs: 2_000 }).catch((thrown: unknown) => thrown)
      return (cause as { code?: string }).code === 'SNAPSHOT_ON_LOST_NODE' ? cause : undefined
    })
    expect(refusal).toMatchObject({ message: expect.stringContaining('generation 2 is on node-1 only') })
    expect((await left.get()).state).toBe('ACTOR_STATE_SUSPENDED')
  })

  test('a deletion does not wait for a lost node: any other collects from the store', async () => {
    const { uid } = await toDelete.get()
    const deleted = toDelete.delete()
    const { data } = await taken('CollectSnapshot', uid)
    expect(data).toMatchObject({ generation: 2 })
    const actor = await toDelete.get()
    expect(actor.state).toBe('ACTOR_STATE_DELETING')
    await node.report(actor, 'SnapshotCollected', { generation: 2 })
    await deleted
    await expect(toDelete.get()).rejects.toMatchObject({ code: 'ACTOR_GONE' })
  })

  test('a node that refuses the first Go gets a second one, for another assignment', async () => {
    const handle = await born()
    let goes = 0
    node.answer('Go', () =>
      (goes += 1) === 1
        ? {
            ok: false,
            error: { code: 'ASSIGNMENT_OLD', id: '', message: 'old', remedy: '', retry: 'never' },
          }
        : { ok: true, result: null },
    )
    const end = handle.resume()
    end.catch(() => undefined)
    const { uid } = await handle.get()
    const second = await condition('a second Go', async () => asksOf(node, 'Go', uid)[1])
    const actor = await handle.get()
    expect(second.data).toMatchObject(tokenOf(actor))
    expect(second.data['sequence']).not.toBe(asksOf(node, 'Go', uid)[0]?.data['sequence'])
    await node.report(actor, 'Restored', { ...tokenOf(actor), phasesMs: {} })
    node.sandboxes.push(sandboxOf(actor))
    expect((await end).state).toBe('ACTOR_STATE_RUNNING')
  })

  test('sandboxes that the log does not want are ended; what runs, or is younger than the log, is not', async () => {
    const alive = await running(await born())
    const fallen = await running(await born())
    const reason = { code: 'PROCESS_EXITED', message: 'ended' }
    await node.report(fallen, 'Exited', { ...tokenOf(fallen), ...reason })
    await system.until(fallen.name, ({ state }) => state === 'ACTOR_STATE_CRASHED')
    const stranger: InventorySandbox = { ...sandboxOf(alive), actorUid: 'of-nobody', name: 'nobody' }
    const young = await (await born()).get()
    const begun: InventorySandbox = { ...sandboxOf(young), epoch: 99, sequence: 99 }
    node.sandboxes.push(stranger, begun)
    await taken('Terminate', fallen.uid)
    await taken('Terminate', stranger.actorUid)
    await inquired(2)
    expect(asksOf(node, 'Terminate', fallen.uid)[0]?.data).toMatchObject(tokenOf(fallen))
    expect(asksOf(node, 'Terminate', alive.uid)).toEqual([])
    expect(asksOf(node, 'Terminate', young.uid)).toEqual([])
  })

  test('a wake that a state wants is tried again until a node has room', async () => {
    const handle = await born()
    const before = await running(handle)
    let refusals = 0
    node.answer('Prepare', ({ prepareId, worker }) => {
      refusals += 1
      if (refusals <= 2) return { ok: false, error: refuse('NO_CAPACITY', node.name) }
      return { ok: true, result: { prepareId, worker, node: node.name, gateAddress: '127.0.0.1:1' } }
    })
    const reverted = handle.revert({ thenResume: true })
    reverted.catch(() => undefined)
    await taken('Terminate', before.uid)
    node.sandboxes.splice(0)
    await node.report(before, 'Terminated', tokenOf(before))
    await expect(reverted).rejects.toMatchObject({ code: 'NO_CAPACITY' })
    await condition('another Go', async () => asksOf(node, 'Go', before.uid)[1])
    const actor = await handle.get()
    expect(refusals).toBe(3)
    await node.report(actor, 'Restored', { ...tokenOf(actor), phasesMs: {} })
    node.sandboxes.push(sandboxOf(actor))
    await system.until(actor.name, ({ state }) => state === 'ACTOR_STATE_RUNNING')
  })

  test('a wake on a node that falls silent ends once the node is lost', async () => {
    const handle = await born()
    await placed(handle)
    node.stop()
    const crashed = await system.until(handle.ref.name, ({ state }) => state !== 'ACTOR_STATE_RESUMING')
    expect(crashed).toMatchObject({ state: 'ACTOR_STATE_CRASHED', crash: { code: 'NODE_UNAVAILABLE' } })
  })
})
