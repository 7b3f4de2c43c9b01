import { EXIT_AT_ONCE, SILENT } from '@torpor/simulations/world/sandbox/simulated-runtime'
import type { Reply } from '@torpor/contracts'
import { LIMITS, SUBJECTS, actorRef, templateRef } from '@torpor/contracts'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { COUNTER_SPEC, condition, startTestSystem } from './testing/system.ts'
import type { TestSystem } from './testing/system.ts'

const [container] = COUNTER_SPEC.containers
const withContainer = (change: object) => ({ ...COUNTER_SPEC, containers: [{ ...container, ...change }] })

describe('bad input ends in one line with code, id and remedy, and changes nothing', () => {
  let system: TestSystem
  beforeAll(async () => {
    system = await startTestSystem()
    await system.makeTemplate()
  })
  afterAll(() => system?.close())

  const send = async (subject: string, body: string): Promise<Reply<unknown>> => {
    const bytes = await system.nats.bus.request(subject, new TextEncoder().encode(body), {
      timeoutMs: LIMITS.rpcTimeoutMs,
    })
    return JSON.parse(new TextDecoder().decode(bytes)) as Reply<unknown>
  }
  const create = SUBJECTS.rpc(actorRef('demo', 'a'), 'CreateActor')
  const template = SUBJECTS.rpc(templateRef('demo', 't'), 'CreateActorTemplate')

  test.each([
    ['bytes that are no JSON', create, '{"template":', 'COMMAND_MALFORMED'],
    ['a body that is no object', create, '[1]', 'COMMAND_MALFORMED'],
    ['a missing field', create, '{}', 'COMMAND_MALFORMED'],
    [
      'an unknown field',
      create,
      '{"template":{"atespace":"demo","name":"counter"},"colour":1}',
      'FIELD_UNKNOWN',
    ],
    ['a verb that does not exist', SUBJECTS.rpc(actorRef('demo', 'a'), 'EatActor'), '{}', 'COMMAND_UNKNOWN'],
    ['a name that is no label', SUBJECTS.rpc(actorRef('demo', 'A_b'), 'GetActor'), '{}', 'NAME_INVALID'],
    [
      'a class that does not exist',
      template,
      '{"spec":{"sandboxClasses":[{"name":"docker"}],"containers":[]}}',
      'CLASS_UNKNOWN',
    ],
    [
      'a type that is not the verb',
      create,
      '{"specversion":"1.0","id":"x","type":"DeleteActor","data":{}}',
      'COMMAND_MALFORMED',
    ],
  ])('%s', async (_, subject, body, code) => {
    const reply = await send(subject, body)
    expect(reply).toMatchObject({ ok: false, error: { code } })
    if (reply.ok) return
    expect(reply.error.message).not.toContain('\n')
    expect(reply.error.remedy).not.toBe('')
    await expect(system.client.actor('demo', 'a').get()).rejects.toMatchObject({ code: 'ACTOR_UNKNOWN' })
  })

  test('an event that would be too large', async () => {
    const env = Array.from({ length: 10 }, (_, index) => ({ name: `V${index}`, value: 'x'.repeat(32_000) }))
    const spec = withContainer({ env })
    const reply = await send(template, JSON.stringify({ spec }))
    expect(reply).toMatchObject({ ok: false, error: { code: 'EVENT_TOO_LARGE' } })
  })

  test.each([
    [
      'an image that does not exist',
      'no-image',
      withContainer({ image: 'oci:nowhere/at/all:latest' }),
      /IMAGE_UNKNOWN|no such image/,
    ],
    [
      'a process that exits at once',
      'exits',
      withContainer({ env: [{ name: EXIT_AT_ONCE, value: '3' }] }),
      /PROCESS_EXITED|3/,
    ],
    [
      'a process that never answers its probe',
      'silent',
      withContainer({
        env: [{ name: SILENT, value: '1' }],
        wakeupProbe: { httpGet: { path: '/healthz', port: 8080 }, timeout: '300ms' },
      }),
      /PROBE_FAILED|probe/,
    ],
  ])(
    'a template with %s fails with the reason, and no actor can be born from it',
    async (_, name, spec, reason) => {
      const metadata = { atespace: 'demo', name }
      await system.client.apply({
        apiVersion: 'torpor.dev/v1',
        kind: 'ActorTemplate',
        metadata,
        spec: spec as never,
      })
      const golden = await condition('the end of its golden snapshot', async () => {
        const found = await system.client.template('demo', name).get()
        return found.golden.phase === 'PENDING' ? undefined : found.golden
      })
      expect(golden.phase).toBe('FAILED')
      expect(golden.errorMessage).toMatch(reason)
      await expect(
        system.client.actor('demo', `of-${name}`).create({ template: name }),
      ).rejects.toMatchObject({
        code: 'TEMPLATE_FAILED',
      })
    },
  )
})
