import { describe, expect, test } from 'vitest'
import { fault, refuse } from '@torpor/contracts'
import type { Answers } from '../scripted-world.ts'
import { no, torpor, yes } from '../scripted-world.ts'

describe('doctor', () => {
  const well: Answers = {
    GetSystem: () => yes({ shards: 2, version: '0.1.0', controlPlane: 'cp-1' }),
    SuspendActor: () => no(refuse('ACTOR_UNKNOWN', 'x')),
    GetReadModel: () => yes({ shards: [{ shard: 0, position: 5, lastSequence: 5 }] }),
    ListNodes: () => yes({ items: [{ name: 'node-1', state: 'NODE_STATE_JOINED' }], nextPageToken: '' }),
  }

  test('finds everything well', async () => {
    const { out, code } = await torpor('doctor', { answers: well })
    expect(
      out
        .split('\n')
        .map((line) => line.slice(0, 1))
        .join(''),
    ).toBe('✓✓✓✓✓✓')
    expect(code).toBe(0)
  })

  test.each<[string, Answers]>([
    ['log', { SuspendActor: () => no(refuse('LOG_UNAVAILABLE', 'shard 1')) }],
    ['read model', { GetReadModel: () => yes({ shards: [{ shard: 0, position: 0, lastSequence: 9_999 }] }) }],
    ['nodes', { ListNodes: () => yes({ items: [], nextPageToken: '' }) }],
    [
      'nodes',
      { ListNodes: () => yes({ items: [{ name: 'n', state: 'NODE_STATE_LOST' }], nextPageToken: '' }) },
    ],
  ])('names the %s when it is ill, with a remedy and exit code 7', async (check, ill) => {
    const { out, code } = await torpor('doctor', { answers: { ...well, ...ill } })
    expect(out).toMatch(new RegExp(`^✗ ${check}: .*\\n {4}\\S`, 'm'))
    expect(code).toBe(7)
  })

  test('says that the bus is too old', async () => {
    const { out, code } = await torpor('doctor', { connectFails: fault('BUS_TOO_OLD', 'nats://old:4222') })
    expect(out).toContain('✗ bus: nats://old:4222: the bus is older than 2.12')
    expect(code).toBe(7)
  })
})
