import { connect } from 'nats'
import type { NatsConnection } from 'nats'
import type { CloudEvent } from '@torpor/contracts'
import { SUBJECTS, actorRef } from '@torpor/contracts'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { QUICK, condition, startTestSystem } from './testing/system.ts'
import type { TestPlane, TestSystem } from './testing/system.ts'

const CREATE = '{"template":{"atespace":"demo","name":"counter"}}'
const REFUSED = 'dev.torpor.command.refused.v1'

describe('the durable door', () => {
  let system: TestSystem
  let plane: TestPlane
  let plain: NatsConnection
  let planes = 1
  beforeAll(async () => {
    system = await startTestSystem(QUICK)
    plane = system.plane
    await system.makeTemplate()
    plain = await connect({ servers: system.server.url })
  })
  afterAll(async () => {
    await plain?.close()
    await system?.close()
  })

  const publish = async (name: string, verb: string, body = '{}'): Promise<void> =>
    void (await plain.jetstream().publish(SUBJECTS.command(actorRef('demo', name), verb), body))
  const eventsOf = async (name: string): Promise<readonly CloudEvent[]> => {
    const { signal } = new AbortController()
    const options = { atespace: 'demo', actor: name, from: 'start', untilCaughtUp: true, signal } as const
    return Array.fromAsync(system.client.events(options))
  }
  const short = ({ type }: CloudEvent): string => type.replace('dev.torpor.', '').replace('.v1', '')
  const storyOf = async (name: string): Promise<readonly string[]> =>
    (await eventsOf(name)).map(short).filter((type) => !type.startsWith('snapshot.'))
  const cutAfterThat = async (cut: Promise<void>): Promise<void> => {
    await cut
    plane = await system.startPlane(`plane-${(planes += 1)}`)
  }
  const refusalsOf = async (name: string) =>
    (await eventsOf(name)).filter(({ type }) => type === REFUSED).map(({ data }) => data)

  test('a command is decided once, though its owner is killed before it told that it is decided', async () => {
    const cut = plane.cutAt({ when: 'after', event: 'ActorCreated', about: 'once' })
    await publish('once', 'CreateActor', CREATE)
    await cutAfterThat(cut)
    await publish('once', 'ResumeActor')
    await system.until('once', ({ state }) => state === 'ACTOR_STATE_RUNNING')
    expect(await storyOf('once')).toEqual(['actor.created', 'actor.resume-started', 'actor.resumed'])
  })

  test('commands of one actor are decided in their order, whoever owns it meanwhile', async () => {
    const cut = plane.cutAt({ when: 'before', event: 'ActorSuspendStarted', about: 'ordered' })
    await publish('ordered', 'CreateActor', CREATE)
    await publish('ordered', 'ResumeActor')
    await publish('ordered', 'SuspendActor', '{"mode":"sync"}')
    await publish('ordered', 'ResumeActor')
    await publish('ordered', 'SuspendActor')
    await cutAfterThat(cut)
    const wake = ['actor.resume-started', 'actor.resumed']
    const story = ['actor.created', ...wake, 'actor.suspend-started', 'actor.checkpointed', 'actor.suspended']
    const wanted = [...story, ...wake, 'actor.suspend-started', 'actor.suspended']
    await condition('both suspends', async () => {
      const found = await storyOf('ordered')
      return found.length >= wanted.length ? found : undefined
    })
    expect(await storyOf('ordered')).toEqual(wanted)
  })

  test.each([
    ['no-json', 'ResumeActor', '{"trigger":', 'COMMAND_MALFORMED'],
    ['no-verb', 'EatActor', '{}', 'COMMAND_UNKNOWN'],
    ['no-field', 'ResumeActor', '{"colour":1}', 'FIELD_UNKNOWN'],
    ['nobody', 'ResumeActor', '{}', 'ACTOR_UNKNOWN'],
    ['no-template', 'CreateActor', '{"template":{"atespace":"demo","name":"none"}}', 'TEMPLATE_UNKNOWN'],
  ])('the "no" to %s is an event that everybody can read', async (name, verb, body, code) => {
    await publish(name, verb, body)
    const refusals = await condition('the refusal', async () => {
      const found = await refusalsOf(name)
      return found.length > 0 ? found : undefined
    })
    expect(refusals).toEqual([expect.objectContaining({ command: verb, code })])
  })

  test('a refusal is remembered: the next owner refuses nothing again', async () => {
    const cut = plane.cutAt({ when: 'after', event: 'CommandRefused', about: 'again' })
    await publish('again', 'ResumeActor')
    await cutAfterThat(cut)
    await publish('again', 'CreateActor', CREATE)
    await system.until('again', () => true)
    expect(await refusalsOf('again')).toHaveLength(1)
  })

  test('what names nothing is noted, and does not hold up the rest', async () => {
    await publish('Not_A_Label', 'ResumeActor')
    await publish('after-it', 'CreateActor', CREATE)
    await system.until('after-it', () => true)
    await condition('the note', async () =>
      system.notes.find((note) => note.includes('names nothing') && note.includes('Not_A_Label')),
    )
  })
})
