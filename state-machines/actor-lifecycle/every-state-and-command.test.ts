import { describe, expect, it } from 'vitest'
import { ACTOR_STATES } from '@torpor/contracts'
import type { Actor, ActorStateName } from '@torpor/contracts'
import type { Scene } from '../given.ts'
import {
  NAMED,
  SUSPEND,
  actorOf,
  admission,
  checkpointed,
  crashed,
  deleting,
  noActor,
  resuming,
  reverting,
  running,
  snapshotRow,
  suspended,
  suspending,
  template,
  tokenOf,
  uploaded,
} from '../given.ts'
import { ACTOR_COMMANDS } from './decide.ts'

/**
 * What each command does in each state. An event name: it is decided, and those after it; `·`: taken, changes nothing;
 * a code: refused. Own generation 2 is PENDING on n1 in every state but NONE, so that storage reports have something to say.
 */
const TABLE = `
                            NONE               SUSPENDED            RESUMING              RUNNING              SUSPENDING             CRASHED               REVERTING             DELETING
CreateActor                 ActorCreated       ALREADY_EXISTS       ALREADY_EXISTS        ALREADY_EXISTS       ALREADY_EXISTS         ALREADY_EXISTS        ALREADY_EXISTS        ALREADY_EXISTS
ResumeActor                 ACTOR_UNKNOWN      ActorResumeStarted   ·                     ·                    ACTOR_STATE_CONFLICT   ACTOR_CRASHED         ACTOR_STATE_CONFLICT  ACTOR_STATE_CONFLICT
SuspendActor                ACTOR_UNKNOWN      ·                    ACTOR_STATE_CONFLICT  ActorSuspendStarted  ·                      ACTOR_STATE_CONFLICT  ACTOR_STATE_CONFLICT  ACTOR_STATE_CONFLICT
RevertActor                 ACTOR_UNKNOWN      ACTOR_STATE_CONFLICT ACTOR_STATE_CONFLICT  ActorRevertStarted   ACTOR_STATE_CONFLICT   ActorRevertStarted+ActorReverted  ·         ACTOR_STATE_CONFLICT
DeleteActor                 ACTOR_UNKNOWN      ActorDeleteStarted   ACTOR_STATE_CONFLICT  ACTOR_STATE_CONFLICT ACTOR_STATE_CONFLICT   ActorDeleteStarted    ACTOR_STATE_CONFLICT  ·
FireTimer                   ·                  TimerFired           TimerFired            TimerFired           TimerFired             TimerFired            TimerFired            TimerFired
DeclareNodeLost             ·                  ·                    ActorNodeLost         ActorNodeLost        ActorNodeLost          ·                     ActorReverted         ActorNodeLost
AbandonResume               ACTOR_UNKNOWN      ASSIGNMENT_OLD       ActorResumeAbandoned  ACTOR_STATE_CONFLICT ACTOR_STATE_CONFLICT   ASSIGNMENT_OLD        ACTOR_STATE_CONFLICT  ACTOR_STATE_CONFLICT
ReportRestored              ACTOR_UNKNOWN      ASSIGNMENT_OLD       ActorResumed          ·                    ·                      ASSIGNMENT_OLD        ·                     ·
ReportRestoreFailed         ACTOR_UNKNOWN      ASSIGNMENT_OLD       ActorCrashed          ·                    ·                      ASSIGNMENT_OLD        ·                     ·
ReportCheckpointed          ACTOR_UNKNOWN      ASSIGNMENT_OLD       ACTOR_STATE_CONFLICT  ACTOR_STATE_CONFLICT ActorSuspended         ASSIGNMENT_OLD        ·                     ·
ReportCheckpointAbandoned   ACTOR_UNKNOWN      ASSIGNMENT_OLD       ·                     ·                    ActorSuspendAbandoned  ASSIGNMENT_OLD        ·                     ·
ReportExited                ACTOR_UNKNOWN      ASSIGNMENT_OLD       ActorCrashed          ActorExited          ActorExited            ASSIGNMENT_OLD        ·                     ·
ReportTerminated            ACTOR_UNKNOWN      ASSIGNMENT_OLD       ·                     ·                    ·                      ASSIGNMENT_OLD        ActorReverted         ActorExited
ReportUploaded              ACTOR_UNKNOWN      SnapshotCompleted+SnapshotReleased  SnapshotCompleted+SnapshotReleased  SnapshotCompleted+SnapshotReleased  SnapshotCompleted+SnapshotReleased  SnapshotCompleted+SnapshotReleased  ·  ·
ReportUploadFailed          ACTOR_UNKNOWN      SnapshotUploadFailed SnapshotUploadFailed  SnapshotUploadFailed SnapshotUploadFailed   SnapshotUploadFailed  ·                     ·
ReportSnapshotDropped       ACTOR_UNKNOWN      ActorSnapshotLost    ·                     SnapshotReleased     SnapshotReleased       SnapshotReleased      ·                     ·
ReportSnapshotCollected     ACTOR_UNKNOWN      ·                    ·                     ·                    ·                      ·                     ·                     SnapshotCollected
ReportSnapshotLost          ACTOR_UNKNOWN      ActorSnapshotLost    ·                     SnapshotReleased     SnapshotReleased       SnapshotReleased      ·                     ·
ReportIdleTimedOut          ACTOR_UNKNOWN      ASSIGNMENT_OLD       ·                     ActorSuspendStarted  ·                      ASSIGNMENT_OLD        ·                     ·
`

const atRest = () => checkpointed(suspending(running(suspended({ idleTimeout: '1m' }))))

const SCENES: Readonly<Record<string, () => Scene<Actor>>> = {
  NONE: noActor,
  SUSPENDED: atRest,
  RESUMING: () => resuming(atRest()),
  RUNNING: () => running(atRest()),
  SUSPENDING: () => suspending(running(atRest())),
  CRASHED: () => crashed(running(atRest())),
  REVERTING: () => reverting(running(atRest())),
  DELETING: () => deleting(running(atRest())),
}

const REASON = { code: 'PROBE_FAILED', message: 'never answered' }

/** One command of each type that fits the state as well as any can. */
function dataOf(type: string, at: Scene<Actor>): unknown {
  const actor = at.state === undefined ? undefined : actorOf(at)
  const token = actor === undefined ? { epoch: 1, sequence: 1 } : tokenOf(actor)
  const manifestDigest = 'blake3:2'
  const data: Readonly<Record<string, unknown>> = {
    CreateActor: NAMED,
    ResumeActor: { trigger: 'caller' },
    SuspendActor: SUSPEND,
    RevertActor: { thenResume: false },
    DeleteActor: { anyState: false },
    FireTimer: { id: actor?.timers.at(-1)?.id ?? 'none' },
    DeclareNodeLost: { node: 'n1' },
    AbandonResume: { ...token, ...REASON },
    ReportRestored: { ...token, phasesMs: {} },
    ReportRestoreFailed: { ...token, ...REASON, ran: true },
    ReportCheckpointed: { ...token, snapshot: snapshotRow(3), phasesMs: {} },
    ReportCheckpointAbandoned: { ...token, generation: 3, ...REASON },
    ReportExited: { ...token, ...REASON },
    ReportTerminated: token,
    ReportUploaded: { generation: 2, manifestDigest, uri: 'actors/x/2', bytes: 1, elapsedMs: 1 },
    ReportUploadFailed: { generation: 2, manifestDigest, ...REASON },
    ReportSnapshotDropped: { generation: 2 },
    ReportSnapshotCollected: { generation: 2 },
    ReportSnapshotLost: { generation: 2, ...REASON },
    ReportIdleTimedOut: { ...token, idleMs: 60_000 },
  }
  return data[type]
}

function outcome(type: string, at: Scene<Actor>): string {
  const facts = { template: template(), admission: admission(), node: 'n1' }
  const { refusal, names } = at.when(type, dataOf(type, at), facts)
  return refusal?.code ?? (names.length === 0 ? '·' : names.join('+'))
}

const [head = '', ...lines] = TABLE.trim().split('\n')
const columns = head.trim().split(/\s+/)
const cells = lines.flatMap((line) => {
  const [command = '', ...expected] = line.trim().split(/\s+/)
  return columns.map((state, index) => [command, state, expected[index] ?? 'nothing expected'] as const)
})

describe('every command in every state', () => {
  it.each(cells)('%s in %s: %s', (command, state, expected) => {
    const at = SCENES[state]?.()
    if (at === undefined) throw new Error(`no scene for ${state}`)
    expect(outcome(command, at)).toBe(expected)
  })

  it('is all there: no state and no command is left out', () => {
    expect(columns.slice(1)).toEqual(ACTOR_STATES.map((name) => name.slice(12)))
    expect(lines.map((line) => line.split(/\s+/)[0])).toEqual(ACTOR_COMMANDS)
  })

  it.each(columns.slice(1))('and the scene of %s is in that state', (state) => {
    const at = SCENES[state]?.()
    expect(at === undefined ? '' : actorOf(at).state).toBe(
      `ACTOR_STATE_${state}` satisfies string as ActorStateName,
    )
  })
})

describe('an actor that is gone', () => {
  const gone = () => suspended().when('DeleteActor', { anyState: false })

  it('answers ACTOR_GONE at first, and ACTOR_UNKNOWN when its name is forgotten', () => {
    const at = gone()
    expect(at.names).toEqual(['ActorDeleteStarted', 'ActorDeleted'])
    expect(at.when('ResumeActor', { trigger: 'caller' }).refusal?.code).toBe('ACTOR_GONE')
    const untilMs = at.state !== undefined && 'untilMs' in at.state ? at.state.untilMs : 0
    expect(at.at(untilMs).when('ResumeActor', { trigger: 'caller' }).refusal?.code).toBe('ACTOR_UNKNOWN')
  })

  it('can be created again under its name at once', () => {
    expect(gone().when('CreateActor', NAMED, { template: template() }).names).toEqual(['ActorCreated'])
  })

  it('has nothing to say to a timer or a lost node', () => {
    expect(gone().when('FireTimer', { id: 'upload-2-0' }).refusal).toBeUndefined()
    expect(gone().when('DeclareNodeLost', { node: 'n1' }).refusal).toBeUndefined()
  })

  it('refuses reports about its predecessor by uid', () => {
    const again = gone().when('CreateActor', NAMED, { template: template() })
    const facts = { node: 'n1', actorUid: 'another-uid' }
    expect(again.when('ReportSnapshotDropped', { generation: 1 }, facts).refusal?.code).toBe('ASSIGNMENT_OLD')
  })
})

describe('what no rule answers', () => {
  it('is refused as unknown', () => {
    expect(running().when('ReportWeather', {}).refusal?.code).toBe('COMMAND_UNKNOWN')
    expect(uploaded(running(), 9).names).toEqual([])
  })
})
