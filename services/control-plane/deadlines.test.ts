import type { Actor } from '@torpor/contracts'
import { LIMITS, SUBJECTS, shardOf, systemClock, systemRandom } from '@torpor/contracts'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { encodeJson } from './entities/json.ts'
import { systemCommand } from './entities/system-command.ts'
import type { ScriptedNode } from './testing/scripted-node.ts'
import { startScriptedNode } from './testing/scripted-node.ts'
import { SHARDS, condition, startTestSystem } from './testing/system.ts'
import type { TestSystem } from './testing/system.ts'

/** No round of reconciliation comes within a test: whoever asks the node, asks because of the deadline. */
const NO_ROUNDS = { reconcileMs: 3_600_000 }

let system: TestSystem
let node: ScriptedNode
beforeAll(async () => {
  system = await startTestSystem(NO_ROUNDS)
  await system.makeTemplate()
  await system.stopNode()
  const { golden } = await system.client.template('demo', 'counter').get()
  if (golden.snapshot === undefined) throw new Error('no golden snapshot')
  node = await startScriptedNode(system.nats.bus, 'scripted', golden.snapshot.sandboxRuntime)
})
afterAll(async () => {
  node?.stop()
  await system?.close()
})

const asked = (verb: string): number => node.asked.filter((ask) => ask.verb === verb).length
const untilAsked = (verb: string, times: number) =>
  condition(`${verb} for the ${times}. time`, async () => (asked(verb) >= times ? true : undefined))

/** What the clock would do in two minutes. */
async function fireDeadline({ atespace, name, timers }: Actor): Promise<string> {
  const id = timers.find(({ kind }) => kind === 'deadline')?.id ?? ''
  const target = { kind: 'actor', atespace, name } as const
  const command = systemCommand({ clock: systemClock, random: systemRandom }, target, 'FireTimer', { id })
  const subject = SUBJECTS.shardSystem(shardOf(atespace, name, SHARDS))
  const bytes = encodeJson({ kind: 'command', command })
  await system.nats.bus.request(subject, bytes, { timeoutMs: LIMITS.rpcTimeoutMs })
  return id
}

test('a deadline that passes asks the node, and only what the node says ends the state', async () => {
  const handle = system.client.actor('demo', 'slow')
  await handle.create({ template: 'counter' })
  const end = handle.resume()
  end.catch(() => undefined)
  await untilAsked('Go', 1)
  const before = asked('Inventory')
  const fired = await fireDeadline(await handle.get())
  await untilAsked('Inventory', before + 1)
  await untilAsked('Go', 2)
  const later = await handle.get()
  expect(later.state).toBe('ACTOR_STATE_RESUMING')
  expect(later.timers.map(({ kind }) => kind)).toEqual(['deadline'])
  expect(later.timers[0]?.id).not.toBe(fired)
  const { epoch = 0, sequence = 0 } = later.worker ?? {}
  node.sandboxes.push({
    actorUid: later.uid,
    atespace: 'demo',
    name: 'slow',
    epoch,
    sequence,
    phase: 'running',
  })
  await fireDeadline(later)
  expect((await end).state).toBe('ACTOR_STATE_RUNNING')
})
