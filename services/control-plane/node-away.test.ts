import { ALL, STREAMS } from '@torpor/contracts'
import { connect } from 'nats'
import type { NatsConnection } from 'nats'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { condition, startTestSystem } from './testing/system.ts'
import type { TestSystem } from './testing/system.ts'

/** No round of reconciliation comes within a test: what the node does when it is back, it has from the stream. */
const NO_ROUNDS = { reconcileMs: 3_600_000 }

describe('a node agent that was away', () => {
  let system: TestSystem
  let plain: NatsConnection
  beforeAll(async () => {
    system = await startTestSystem(NO_ROUNDS)
    await system.makeTemplate()
    plain = await connect({ servers: system.server.url })
  })
  afterAll(async () => {
    await plain?.close()
    await system?.close()
  })

  const captured = (verb: string, uid: string) =>
    condition(`${verb} in the stream`, async () => {
      const consumer = await plain
        .jetstream()
        .consumers.get(STREAMS.nodeCommands, { filterSubjects: ALL.nodeCommandsOf('node-1') })
      const { num_pending: waiting } = await consumer.info(true)
      for await (const message of await consumer.fetch({ max_messages: waiting, expires: 2_000 })) {
        const said = message.string()
        if (message.subject.endsWith(`.${verb}`) && said.includes(uid)) return said
      }
      return undefined
    })
  const sandboxes = async (): Promise<readonly string[]> =>
    (await system.runtime.list()).map(({ sandboxId }) => sandboxId)

  test('takes the checkpoint that it missed, and node and log agree', async () => {
    const handle = system.client.actor('demo', 'missed')
    await handle.create({ template: 'counter' })
    const { uid } = await handle.resume()
    await system.stopNode()
    const asleep = handle.suspend({ mode: 'async' })
    await captured('Checkpoint', uid)
    expect((await handle.get()).state).toBe('ACTOR_STATE_SUSPENDING')
    await system.startNode()
    expect((await asleep).state).toBe('ACTOR_STATE_SUSPENDED')
    // what is left of it goes after the answer
    await condition('its end', async () => !(await sandboxes()).includes(uid) || undefined)
  })

  test('ends what was deleted meanwhile', async () => {
    const handle = system.client.actor('demo', 'deleted')
    await handle.create({ template: 'counter' })
    const { uid } = await handle.resume()
    await system.stopNode()
    const deleted = handle.delete({ anyState: true })
    await captured('Terminate', uid)
    expect(await sandboxes()).toContain(uid)
    await system.startNode()
    await deleted
    expect(await sandboxes()).not.toContain(uid)
  })
})
