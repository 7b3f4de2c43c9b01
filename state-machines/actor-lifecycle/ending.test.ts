import { describe, expect, it } from 'vitest'
import { LIMITS, isGone } from '@torpor/contracts'
import {
  NOW_MS,
  actorOf,
  checkpointed,
  crashed,
  deleting,
  golden,
  resuming,
  reverting,
  rows,
  running,
  suspended,
  suspending,
  tokenOf,
  uploaded,
} from '../given.ts'
import { planNodeActions } from './plan-node-actions.ts'

const verbs = (at: ReturnType<typeof running>) => planNodeActions(actorOf(at)).map(({ verb }) => verb)
const terminated = (at: ReturnType<typeof running>) => at.when('ReportTerminated', tokenOf(actorOf(at)))

describe('a process that ends', () => {
  it('leaves RUNNING with its reason and frees its booking', () => {
    const actor = actorOf(crashed())
    expect(actor).toMatchObject({
      state: 'ACTOR_STATE_CRASHED',
      crash: { code: 'ACTOR_EXITED', timeMs: NOW_MS },
    })
    expect(actor.worker).toBeUndefined()
  })

  it('goes back by itself with crashPolicy revert', () => {
    const at = crashed(running(suspended({ crashPolicy: 'revert' })))
    expect(at.names).toEqual(['ActorExited', 'ActorRevertStarted', 'ActorReverted'])
    expect(actorOf(at).state).toBe('ACTOR_STATE_SUSPENDED')
    expect(actorOf(at)).not.toHaveProperty('wakeWanted')
  })

  it('wakes again with crashPolicy restart, until it has done so too often', () => {
    let at = suspended({ crashPolicy: 'restart' })
    for (let count = 1; count <= LIMITS.restartsMax; count += 1) {
      at = crashed(running(at))
      expect(actorOf(at)).toMatchObject({
        state: 'ACTOR_STATE_SUSPENDED',
        wakeWanted: true,
        restarts: { count },
      })
    }
    expect(actorOf(running(at))).not.toHaveProperty('wakeWanted')
    expect(actorOf(crashed(running(at))).state).toBe('ACTOR_STATE_CRASHED')
    const later = running(at).at(NOW_MS + LIMITS.restartWindowMs)
    expect(actorOf(crashed(later))).toMatchObject({ state: 'ACTOR_STATE_SUSPENDED', restarts: { count: 1 } })
  })
})

describe('reverting', () => {
  it('ends what runs first, then keeps the newest COMPLETED snapshot only', () => {
    const at = reverting(running(checkpointed(suspending(running(uploaded(checkpointed(), 2))))))
    expect(rows(at)).toEqual(['ACTOR/COMPLETED/2@n1', 'ACTOR/PENDING/3@n1'])
    expect(verbs(at)).toEqual(['Terminate'])
    const done = terminated(at)
    expect(rows(done)).toEqual(['ACTOR/COMPLETED/2@n1'])
    expect(actorOf(done)).toMatchObject({
      state: 'ACTOR_STATE_SUSPENDED',
      lastAssignedGeneration: 3,
      collect: [{ generation: 3, node: 'n1' }],
    })
    expect(verbs(done)).toEqual(['CollectSnapshot'])
  })

  it('ignores an upload that would complete what it gives up', () => {
    const at = uploaded(reverting(running(checkpointed())), 2)
    expect(at.names).toEqual([])
    expect(rows(terminated(at))).toEqual(['TAG/COMPLETED/1'])
  })

  it('goes back to birth when nothing of its own is stored', () => {
    const at = crashed().when('RevertActor', { thenResume: true })
    expect(at.events.map(({ data }) => 'generation' in data && data.generation)).toEqual([0, 0])
    expect(actorOf(at)).toMatchObject({ state: 'ACTOR_STATE_SUSPENDED', wakeWanted: true })
    expect(actorOf(at).crash).toBeUndefined()
    expect(rows(at)).toEqual(['TAG/COMPLETED/1'])
  })

  it('does not wait for a node that is lost', () => {
    expect(reverting().when('DeclareNodeLost', { node: 'n1' }).names).toEqual(['ActorReverted'])
  })
})

describe('deleting', () => {
  it('is done at once when there is nothing to end or collect', () => {
    const at = suspended().when('DeleteActor', { anyState: false })
    expect(at.state).toMatchObject({ gone: true, untilMs: NOW_MS + LIMITS.goneMs })
  })

  it('ends the sandbox, then collects each own generation, then is done', () => {
    const at = deleting(running(checkpointed()))
    expect(verbs(at)).toEqual(['Terminate'])
    const ended = terminated(at)
    expect([ended.names, verbs(ended)]).toEqual([['ActorExited'], ['CollectSnapshot']])
    const done = ended.when('ReportSnapshotCollected', { generation: 2 })
    expect(done.names).toEqual(['SnapshotCollected', 'ActorDeleted'])
    expect(isGone(done.state)).toBe(true)
  })

  it('collects also what a checkpoint under way may have written', () => {
    const ended = terminated(deleting(suspending()))
    expect(planNodeActions(actorOf(ended))).toMatchObject([
      { verb: 'CollectSnapshot', node: 'n1', data: { generation: 2 } },
    ])
  })

  it('wins over a resume in flight', () => {
    const at = deleting(resuming())
    expect(verbs(at)).toEqual(['Terminate'])
    expect(at.when('ReportRestored', { ...tokenOf(actorOf(at)), phasesMs: {} }).names).toEqual([])
    expect(terminated(at).names).toEqual(['ActorExited', 'ActorDeleted'])
  })

  it('does not wait for a node that is lost; any other collects from the store', () => {
    const at = deleting(running(checkpointed())).when('DeclareNodeLost', { node: 'n1' })
    expect(at.names).toEqual(['ActorNodeLost'])
    expect(planNodeActions(actorOf(at))).toMatchObject([{ verb: 'CollectSnapshot', node: '' }])
    expect(at.when('DeclareNodeLost', { node: 'n1' }).names).toEqual([])
    expect(deleting().when('DeclareNodeLost', { node: 'n1' }).names).toEqual([
      'ActorNodeLost',
      'ActorDeleted',
    ])
  })
})

describe('a node that is lost', () => {
  it('takes down what ran there, and nothing that rests there', () => {
    expect(running().when('DeclareNodeLost', { node: 'n2' }).names).toEqual([])
    const lost = running().when('DeclareNodeLost', { node: 'n1' })
    expect(actorOf(lost)).toMatchObject({ state: 'ACTOR_STATE_CRASHED', crash: { code: 'NODE_UNAVAILABLE' } })
    expect(checkpointed().when('DeclareNodeLost', { node: 'n1' }).names).toEqual([])
  })

  it('is healed by policy, but not to a state older than one that may come back', () => {
    const spec = { crashPolicy: 'restart' }
    const fresh = running(suspended(spec)).when('DeclareNodeLost', { node: 'n1' })
    expect(fresh.names).toEqual(['ActorNodeLost', 'ActorRevertStarted', 'ActorReverted'])
    const pending = running(checkpointed(suspending(running(suspended(spec)))))
    expect(pending.when('DeclareNodeLost', { node: 'n1' }).names).toEqual(['ActorNodeLost'])
  })
})

describe('a copy that is lost', () => {
  const lost = (at: ReturnType<typeof running>, node: string) =>
    at.when('ReportSnapshotLost', { generation: 2, code: 'SNAPSHOT_DAMAGED', message: 'digest' }, { node })

  it('is only a copy once the generation is COMPLETED', () => {
    expect(lost(uploaded(checkpointed(), 2), 'n1').names).toEqual(['SnapshotDetached'])
  })

  it('crashes an actor at rest when it was the only one', () => {
    const at = lost(checkpointed(), 'n1')
    expect(at.names).toEqual(['ActorSnapshotLost'])
    expect(actorOf(at).crash).toMatchObject({ code: 'SNAPSHOT_DAMAGED' })
  })

  it('is not lost because another node has none', () => {
    expect(lost(checkpointed(), 'n2').names).toEqual([])
  })
})

describe('a golden actor', () => {
  it('does not heal: its template is told', () => {
    const actor = actorOf(crashed(running(golden())))
    expect(actor).toMatchObject({ state: 'ACTOR_STATE_CRASHED', golden: true })
  })
})
