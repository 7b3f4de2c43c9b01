import { describe, expect, it } from 'vitest'
import type { Actor } from '@torpor/contracts'
import { NODE_COMMANDS } from '@torpor/contracts'
import type { Scene } from '../given.ts'
import {
  UID,
  actorOf,
  checkpointed,
  golden,
  resuming,
  reverting,
  running,
  suspended,
  suspending,
  uploaded,
} from '../given.ts'
import { planNodeActions } from './plan-node-actions.ts'

const plan = (at: Scene<Actor>) => planNodeActions(actorOf(at))
const NAMES = { actorUid: UID, atespace: 'demo', name: 'counter-1' }

describe('what the log wants of nodes', () => {
  it('is nothing of an actor at rest, or one that runs', () => {
    expect(plan(suspended())).toEqual([])
    expect(plan(running())).toEqual([])
  })

  it('is to go, with the snapshot to restore, while RESUMING', () => {
    const [go] = plan(resuming())
    expect(go).toMatchObject({
      node: 'n1',
      verb: 'Go',
      key: `${UID}/Go/3.2`,
      data: { ...NAMES, epoch: 3, sequence: 2, prepareId: '', snapshot: { generation: 1 } },
    })
    expect(plan(resuming(golden()))[0]?.data).not.toHaveProperty('snapshot')
  })

  it('is to checkpoint into the generation that was reserved, while SUSPENDING', () => {
    const [checkpoint] = plan(suspending())
    expect(checkpoint).toMatchObject({
      verb: 'Checkpoint',
      data: { ...NAMES, generation: 2, drain: 'drain' },
    })
  })

  it('is to end the sandbox, while REVERTING', () => {
    expect(plan(reverting())).toMatchObject([{ verb: 'Terminate', data: { epoch: 3, sequence: 2 } }])
  })

  it('is another action for each attempt at an upload', () => {
    const due = checkpointed().when('FireTimer', { id: 'upload-2-0' })
    const failed = due
      .when('ReportUploadFailed', { generation: 2, manifestDigest: 'blake3:2', code: 'X', message: 'x' })
      .when('FireTimer', { id: 'upload-2-1' })
    expect(plan(due)[0]?.key).toBe(`${UID}/Upload/2.0`)
    expect(plan(failed)[0]?.key).toBe(`${UID}/Upload/2.1`)
  })

  it('does not take a copy away from the restore that reads it', () => {
    const due = uploaded(checkpointed(), 2).when('FireTimer', { id: 'detach-2' })
    expect(plan(due).map(({ verb }) => verb)).toEqual(['DropSnapshot'])
    expect(plan(resuming(due)).map(({ verb }) => verb)).toEqual(['Go'])
    expect(plan(running(due)).map(({ verb }) => verb)).toEqual(['DropSnapshot'])
  })

  it('is what the schemas of node commands say', () => {
    const scenes = [
      resuming(),
      suspending(),
      reverting(),
      checkpointed().when('FireTimer', { id: 'upload-2-0' }),
    ]
    const actions = scenes.flatMap(plan)
    expect(actions).toHaveLength(4)
    for (const { verb, data } of actions) {
      expect(NODE_COMMANDS[verb].safeParse(data).error).toBeUndefined()
    }
  })
})
