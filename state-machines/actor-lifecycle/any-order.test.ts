import * as fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import type { Actor, DomainEvent, Gone } from '@torpor/contracts'
import { isGone } from '@torpor/contracts'
import type { Scene } from '../given.ts'
import {
  EPOCH,
  NAMED,
  NOW_MS,
  REF,
  SUSPEND,
  admission,
  noActor,
  snapshotRow,
  template,
  templateSpec,
} from '../given.ts'
import { evolve } from './evolve.ts'
import { planNodeActions } from './plan-node-actions.ts'
import { isCompleted, isOwn } from './snapshots.ts'
import { DEADLINES_MS, isTransient } from './timers.ts'

/**
 * Whatever comes, in whatever order, early, late, twice or about what is not there: the laws of an actor hold. Reports are
 * drawn both from what the plan wants of nodes (so that lives go far) and from nowhere.
 */
type Step = { readonly type: string; readonly pick: number; readonly flag: boolean; readonly node: string }

const TYPES = `
  CreateActor ResumeActor SuspendActor SuspendActorSync RevertActor DeleteActor
  Answer Answer Answer Answer FireTimer FireTimer DeclareNodeLost AbandonResume
  ReportRestored ReportRestoreFailed ReportDamaged ReportCheckpointed ReportCheckpointAbandoned ReportExited
  ReportTerminated ReportUploaded ReportUploadFailed ReportSnapshotDropped ReportSnapshotCollected
  ReportSnapshotLost ReportIdleTimedOut`
  .trim()
  .split(/\s+/)
const steps = fc.array(
  fc.record({
    type: fc.constantFrom(...TYPES),
    pick: fc.nat(5),
    flag: fc.boolean(),
    node: fc.constantFrom('n1', 'n2'),
  }),
  { maxLength: 80, size: 'max' },
)
const crashPolicies = fc.constantFrom('manual', 'revert', 'restart')
const REASON = { code: 'PROBE_FAILED', message: 'never answered' }

function apply(at: Scene<Actor>, step: Step, crashPolicy: string): Scene<Actor> {
  const { type, data, facts } = sentFor(at, step, crashPolicy)
  return at.when(type, data, { node: step.node, ...facts })
}

type Sent = { readonly type: string; readonly data: unknown; readonly facts?: Record<string, unknown> }

function sentFor(at: Scene<Actor>, step: Step, crashPolicy: string): Sent {
  const actor = at.state === undefined || isGone(at.state) ? undefined : at.state
  if (step.type === 'Answer') return answer(actor, step)
  const worker = step.flag ? actor?.worker : undefined
  const token = { epoch: worker?.epoch ?? EPOCH, sequence: worker?.sequence ?? step.pick }
  const generation = actor?.suspend?.generation ?? actor?.snapshots.at(step.pick % 3)?.generation ?? step.pick
  const manifestDigest = `blake3:${generation}`
  const row = snapshotRow(Math.max(generation, 1), { locality: step.node })
  const known: Readonly<Record<string, Sent>> = {
    CreateActor: create(step, crashPolicy),
    ResumeActor: resume(step),
    SuspendActor: { type: 'SuspendActor', data: SUSPEND },
    SuspendActorSync: { type: 'SuspendActor', data: { ...SUSPEND, mode: 'sync' } },
    RevertActor: { type: step.type, data: { thenResume: step.flag } },
    DeleteActor: { type: step.type, data: { anyState: step.flag } },
    FireTimer: { type: step.type, data: { id: actor?.timers.at(step.pick % 3)?.id ?? 'none' } },
    DeclareNodeLost: { type: step.type, data: { node: step.node } },
    AbandonResume: { type: step.type, data: { ...token, ...REASON } },
    ReportRestored: { type: step.type, data: { ...token, phasesMs: {} } },
    ReportRestoreFailed: { type: step.type, data: { ...token, ...REASON, ran: step.pick > 2 } },
    ReportDamaged: {
      type: 'ReportRestoreFailed',
      data: { ...token, code: 'SNAPSHOT_DAMAGED', message: 'digest', ran: false },
    },
    ReportCheckpointed: { type: step.type, data: { ...token, snapshot: row, phasesMs: {} } },
    ReportExited: { type: step.type, data: { ...token, ...REASON } },
    ReportCheckpointAbandoned: { type: step.type, data: { ...token, generation, ...REASON } },
    ReportTerminated: { type: step.type, data: token },
    ReportUploaded: {
      type: step.type,
      data: { generation, manifestDigest, uri: row.uri, bytes: 1, elapsedMs: 1 },
    },
    ReportUploadFailed: { type: step.type, data: { generation, manifestDigest, ...REASON } },
    ReportSnapshotDropped: { type: step.type, data: { generation } },
    ReportSnapshotCollected: { type: step.type, data: { generation } },
    ReportSnapshotLost: { type: step.type, data: { generation, ...REASON } },
    ReportIdleTimedOut: { type: step.type, data: { ...token, idleMs: 1 } },
  }
  return known[step.type] ?? { type: step.type, data: {} }
}

const create = (step: Step, crashPolicy: string): Sent => ({
  type: 'CreateActor',
  data: NAMED,
  facts: {
    template: template({ spec: templateSpec({ crashPolicy, idleTimeout: '1m' }) }),
    golden: step.pick === 5,
  },
})
const resume = (step: Step): Sent => ({
  type: 'ResumeActor',
  data: { trigger: 'caller' },
  facts: { admission: admission(step.node) },
})

/** What a well-behaved node reports for one of the actions that the actor's state wants; else a wake. */
function answer(actor: Actor | undefined, step: Step): Sent {
  const wanted = actor === undefined ? [] : planNodeActions(actor)
  const action = wanted[step.pick % Math.max(wanted.length, 1)]
  const facts = { node: action?.node ?? step.node }
  switch (action?.verb) {
    case 'Go':
      return { type: 'ReportRestored', data: { ...action.data, phasesMs: {} }, facts }
    case 'Checkpoint': {
      const snapshot = snapshotRow(action.data.generation, { locality: action.node })
      return { type: 'ReportCheckpointed', data: { ...action.data, snapshot, phasesMs: {} }, facts }
    }
    case 'Terminate':
      return { type: 'ReportTerminated', data: action.data, facts }
    case 'Upload':
      return { type: 'ReportUploaded', data: { ...action.data, bytes: 1, elapsedMs: 1 }, facts }
    case 'DropSnapshot':
      return { type: 'ReportSnapshotDropped', data: action.data, facts }
    case 'CollectSnapshot':
      return { type: 'ReportSnapshotCollected', data: action.data, facts }
    default:
      return actor === undefined ? create({ ...step, pick: 0 }, 'manual') : resume(step)
  }
}

type Life = { readonly scenes: readonly Scene<Actor>[]; readonly events: readonly DomainEvent[] }

/** Every scene of a life. Deciding asserts that the machine accepts each event, so a bad one throws here. */
function live(taken: readonly Step[], crashPolicy: string): Life {
  const scenes = [noActor()]
  for (const step of taken) scenes.push(apply(scenes.at(-1) ?? noActor(), step, crashPolicy))
  return { scenes, events: scenes.flatMap(({ events }) => events) }
}

const actorIn = (at: Scene<Actor>): Actor | undefined =>
  at.state === undefined || isGone(at.state) ? undefined : at.state

function holds(law: (life: Life) => void): void {
  fc.assert(
    fc.property(steps, crashPolicies, (taken, crashPolicy) => law(live(taken, crashPolicy))),
    { numRuns: 300 },
  )
}

describe('in any order of commands, reports and timers', () => {
  it('lives reach every state, so that the laws below are about something', () => {
    const seen = new Set<string>()
    holds(({ scenes }) => scenes.forEach((at) => seen.add(actorIn(at)?.state ?? 'none')))
    expect(seen.size).toBe(8)
  })

  it('a completed generation leaves nothing lower: at most one own COMPLETED one', () => {
    holds(({ scenes }) => {
      for (const at of scenes) {
        const completed = actorIn(at)?.snapshots.filter((row) => isOwn(row) && isCompleted(row)) ?? []
        expect(completed.length).toBeLessThanOrEqual(1)
      }
    })
  })

  it('an actor at rest has a snapshot to wake from, unless its last copy was proved lost', () => {
    holds(({ scenes, events }) => {
      if (events.some(({ type }) => type === 'ActorSnapshotLost')) return
      for (const at of scenes) {
        const actor = actorIn(at)
        if (actor === undefined || actor.golden || actor.state === 'ACTOR_STATE_DELETING') continue
        expect(actor.snapshots.some(isCompleted)).toBe(true)
      }
    })
  })

  it('a generation is never used twice in one life', () => {
    holds(({ events }) => {
      let used = new Set<number>()
      for (const event of events) {
        if (event.type === 'ActorCreated') used = new Set([event.data.snapshot?.generation ?? 0])
        if (event.type !== 'ActorSuspendStarted') continue
        expect(used.has(event.data.generation)).toBe(false)
        used.add(event.data.generation)
      }
    })
  })

  it('an assignment only grows', () => {
    holds(({ events }) => {
      const sequences = events.flatMap((event) =>
        event.type === 'ActorResumeStarted' ? [event.data.sequence] : [],
      )
      expect(sequences).toEqual([...new Set(sequences)].toSorted((a, b) => a - b))
    })
  })

  it('a worker is booked exactly while something runs or is being ended', () => {
    holds(({ scenes }) => {
      for (const at of scenes) {
        const actor = actorIn(at)
        const isAtRest = actor?.state === 'ACTOR_STATE_SUSPENDED' || actor?.state === 'ACTOR_STATE_CRASHED'
        const mayBe = actor === undefined || actor.state === 'ACTOR_STATE_DELETING'
        if (!mayBe) expect(actor.worker === undefined).toBe(isAtRest)
      }
    })
  })

  it('every -ING state has one deadline, and no other state has any', () => {
    holds(({ scenes }) => {
      for (const at of scenes) {
        const actor = actorIn(at)
        if (actor === undefined) continue
        const deadlines = actor.timers.filter(({ kind }) => kind === 'deadline')
        expect(deadlines.length).toBe(isTransient(actor.state) ? 1 : 0)
        expect(new Set(actor.timers.map(({ id }) => id)).size).toBe(actor.timers.length)
      }
    })
    expect(Object.keys(DEADLINES_MS)).toHaveLength(4)
  })

  it('every -ING state wants something of a node, or waits for a timer that will', () => {
    holds(({ scenes }) => {
      for (const at of scenes) {
        const actor = actorIn(at)
        if (actor === undefined || !isTransient(actor.state)) continue
        const waits = actor.timers.some(({ kind }) => kind === 'upload')
        expect(planNodeActions(actor).length > 0 || waits).toBe(true)
      }
    })
  })

  it('wanted actions have keys of their own', () => {
    holds(({ scenes }) => {
      for (const at of scenes) {
        const actor = actorIn(at)
        const keys = actor === undefined ? [] : planNodeActions(actor).map(({ key }) => key)
        expect(new Set(keys).size).toBe(keys.length)
      }
    })
  })

  it('the same events fold to the same actor', () => {
    holds(({ scenes, events }) => {
      const fold = () =>
        events.reduce<Actor | Gone | undefined>((state, event, index) => {
          return evolve(state, event, REF, { version: index + 1, epoch: EPOCH, timeMs: NOW_MS })
        }, undefined)
      expect(fold()).toEqual(scenes.at(-1)?.state)
      expect(JSON.stringify(fold())).toBe(JSON.stringify(fold()))
    })
  })
})
