import { describe, expect, it } from 'vitest'
import type { Actor } from '@torpor/contracts'
import { TorporError, refuse } from '@torpor/contracts'
import { routerAnswer } from './actor-lifecycle/answer.ts'
import { actorDecider } from './actor-lifecycle/decider.ts'
import { checkStorageEvent } from './snapshot-storage/storage.ts'
import { ALL_DECIDERS, evolveEntity } from './deciders.ts'
import { lifecycleDiagram, lifecycleTable } from './diagram.ts'
import { EPOCH, NOW_MS, REF, actorOf, checkpointed, running, suspended, timerIds } from './given.ts'

const AT = { version: 9, epoch: EPOCH, timeMs: NOW_MS }

describe('the deciders', () => {
  it('are one for each kind of entity', () => {
    const kinds = ALL_DECIDERS.map(({ kind }) => kind).toSorted()
    expect(kinds).toEqual(['actor', 'actor-template', 'atespace', 'node', 'worker-pool'])
  })

  it('give the due times that the state holds', () => {
    expect(actorDecider.timers(actorOf(checkpointed())).map(({ id }) => id)).toEqual(timerIds(checkpointed()))
  })

  it('fold without deciding', () => {
    const actor = actorOf(running())
    const exited = { type: 'ActorExited', data: { epoch: 3, sequence: 2, code: 'X', message: 'x' } } as const
    expect(evolveEntity('actor', actor, exited, REF, AT)).toMatchObject({
      state: 'ACTOR_STATE_CRASHED',
      version: 9,
      updateTimeMs: NOW_MS,
    })
  })

  it('fold nothing of an event that is not about the entity', () => {
    const refusal = refuse('ACTOR_UNKNOWN', 'demo/x')
    const event = { type: 'CommandRefused', data: { command: 'ResumeActor', ...refusal } } as const
    const actor = actorOf(running())
    expect(evolveEntity('actor', actor, event, REF, AT)).toBe(actor)
  })
})

describe('what no log may hold', () => {
  it('is an event that the machine does not accept', () => {
    const fold = () => evolveEntity('actor', actorOf(suspended()), ILLEGAL, REF, AT)
    expect(fold).toThrow(TorporError)
    expect(fold).toThrow(/ActorReverted is not legal in ACTOR_STATE_SUSPENDED/)
  })

  it('is an event of a generation that its storage does not accept', () => {
    const completed = {
      type: 'SnapshotCompleted',
      data: { generation: 1, manifestDigest: 'blake3:1', uri: 'x' },
    } as const
    const check = (actor: Actor) => () => checkStorageEvent(actor, completed)
    expect(check(actorOf(suspended()))).toThrow(/SNAPSHOT_STORAGE_STATE_COMPLETED/)
  })
})

const ILLEGAL = { type: 'ActorReverted', data: { generation: 0 } } as const

describe('the router', () => {
  it('is told by each state what to do with a request', () => {
    expect(routerAnswer('ACTOR_STATE_SUSPENDED')).toBe('wakes')
    expect(routerAnswer('ACTOR_STATE_RESUMING')).toBe('parks')
    expect(routerAnswer('ACTOR_STATE_RUNNING')).toBe('routes')
    expect(routerAnswer('ACTOR_STATE_SUSPENDING')).toBe('parks')
    expect(routerAnswer('ACTOR_STATE_CRASHED')).toBe('rejects')
    expect(routerAnswer('ACTOR_STATE_REVERTING')).toBe('parks')
    expect(routerAnswer('ACTOR_STATE_DELETING')).toBe('rejects')
    expect(routerAnswer('NO_ACTOR')).toBe('rejects')
  })
})

describe('the pages made from the machine', () => {
  it('draw its moves and list its states', () => {
    expect(lifecycleDiagram()).toContain('ACTOR_STATE_SUSPENDED --> ACTOR_STATE_RESUMING: ActorResumeStarted')
    expect(lifecycleDiagram()).not.toContain('ACTOR_STATE_SUSPENDED --> ACTOR_STATE_SUSPENDED')
    expect(lifecycleTable()).toContain('| ACTOR_STATE_RUNNING | routes | serving; books its worker |')
    expect(lifecycleTable()).toContain(
      '| ACTOR_STATE_SUSPENDED | ActorResumeStarted | ACTOR_STATE_RESUMING |',
    )
  })
})
