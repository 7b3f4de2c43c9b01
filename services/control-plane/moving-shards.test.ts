import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { COUNTER_SPEC, startTestSystem } from './testing/system.ts'
import type { TestSystem } from './testing/system.ts'

/** So many that some of their shards move, and so small that all have room. */
const NAMES = Array.from({ length: 6 }, (_, index) => `moving-${index}`)
const SMALL = { ...COUNTER_SPEC, resources: { limits: { cpu: '100m', memory: '64Mi', disk: '64Mi' } } }

describe('shards that go to another control plane while their actors wake', () => {
  let system: TestSystem
  beforeAll(async () => {
    system = await startTestSystem()
    await system.makeTemplate(SMALL)
  })
  afterAll(() => system?.close())

  test('whoever waits is answered by the new owner, and never told that the actor was deleted', async () => {
    const handles = NAMES.map((name) => system.client.actor('demo', name))
    for (const handle of handles) await handle.create({ template: 'counter' })
    const letGo = system.runtime.holdRestores()
    const waking = handles.map((handle) => handle.resume())
    for (const name of NAMES) {
      await system.until(name, ({ state }) => state === 'ACTOR_STATE_RESUMING')
    }
    const second = await system.startPlane('plane-2')
    letGo()
    for (const { state } of await Promise.all(waking)) expect(state).toBe('ACTOR_STATE_RUNNING')
    await second.close()
    for (const handle of handles) {
      expect((await handle.suspend({ mode: 'async' })).state).toBe('ACTOR_STATE_SUSPENDED')
    }
  })
})
