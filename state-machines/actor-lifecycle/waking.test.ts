import { describe, expect, it } from 'vitest'
import { LIMITS } from '@torpor/contracts'
import {
  EPOCH,
  NAMED,
  NOW_MS,
  UID,
  actorOf,
  admission,
  checkpointed,
  golden,
  noActor,
  resuming,
  rows,
  running,
  suspended,
  suspending,
  template,
  timerIds,
  tokenOf,
  uploaded,
} from '../given.ts'

const REASON = { code: 'PROBE_FAILED', message: 'never answered' }

describe('creating an actor', () => {
  it('borrows the golden snapshot of its template as generation 1', () => {
    const actor = actorOf(suspended())
    expect(rows(suspended())).toEqual(['TAG/COMPLETED/1'])
    expect(actor).toMatchObject({ uid: UID, state: 'ACTOR_STATE_SUSPENDED', lastAssignedGeneration: 1 })
    expect(actor.spec).toEqual(template().spec)
  })

  it('needs a template that has its golden snapshot', () => {
    const create = (found: unknown) => noActor().when('CreateActor', NAMED, { template: found }).refusal
    expect(create(undefined)?.code).toBe('TEMPLATE_UNKNOWN')
    expect(create(template({ golden: { phase: 'PENDING' } }))?.code).toBe('TEMPLATE_NOT_READY')
    const failed = create(template({ golden: { phase: 'FAILED', errorMessage: 'no such image' } }))
    expect(failed).toMatchObject({ code: 'TEMPLATE_FAILED', detail: 'no such image' })
  })

  it('gives a golden actor no snapshot: it starts from its image', () => {
    expect(actorOf(golden())).toMatchObject({ snapshots: [], lastAssignedGeneration: 0, golden: true })
    expect(actorOf(resuming(golden())).resume?.generation).toBe(0)
  })
})

describe('waking an actor', () => {
  it('needs a node that admits it', () => {
    expect(suspended().when('ResumeActor', { trigger: 'caller' }).refusal?.code).toBe('PLACEMENT_REQUIRED')
  })

  it('answers with the reason why no node does', () => {
    const refusal = { code: 'NO_CAPACITY', id: 'x', message: 'full', remedy: '', retry: 'later' }
    expect(suspended().when('ResumeActor', { trigger: 'caller' }, { refusal }).refusal).toEqual(refusal)
  })

  it('fences the execution by epoch and the version of its own event', () => {
    const at = resuming()
    const actor = actorOf(at)
    expect(actor.worker).toEqual({
      actorUid: UID,
      epoch: EPOCH,
      sequence: actor.version,
      node: 'n1',
      worker: 'small-0',
      workerPool: 'small',
      gateAddress: 'n1:7000',
    })
    expect(at.events[0]?.data).toMatchObject({
      generation: 1,
      deadlineAtMs: NOW_MS + LIMITS.resumeDeadlineMs,
    })
  })

  it('takes the newest snapshot, and only its node while that is PENDING', () => {
    const pending = checkpointed()
    expect(actorOf(resuming(pending)).resume?.generation).toBe(2)
    expect(resuming(pending, 'n2').refusal?.code).toBe('PLACEMENT_REQUIRED')
    expect(resuming(uploaded(pending, 2), 'n2').names).toEqual(['ActorResumeStarted'])
  })

  it('serves when the node says so, and hears it twice without harm', () => {
    const at = running()
    expect(actorOf(at).state).toBe('ACTOR_STATE_RUNNING')
    expect(timerIds(at)).toEqual([])
    const again = at.when('ReportRestored', { ...tokenOf(actorOf(at)), phasesMs: {} })
    expect([again.names, again.refusal]).toEqual([[], undefined])
  })

  it('does not believe a report about an older execution', () => {
    const at = resuming(checkpointed())
    const { epoch, sequence } = tokenOf(actorOf(at))
    const older = { epoch, sequence: sequence - 1, phasesMs: {} }
    expect(at.when('ReportRestored', older).refusal?.code).toBe('ASSIGNMENT_OLD')
  })
})

describe('a wake that fails', () => {
  it('goes back to rest when nothing ran', () => {
    const at = resuming()
    const failed = at.when('ReportRestoreFailed', { ...tokenOf(actorOf(at)), ...REASON, ran: false })
    expect(failed.names).toEqual(['ActorResumeAbandoned'])
    expect(actorOf(failed)).toMatchObject({ state: 'ACTOR_STATE_SUSPENDED', timers: [] })
    expect(actorOf(failed).worker).toBeUndefined()
  })

  it('crashes with code and message when something ran', () => {
    const at = resuming()
    const failed = at.when('ReportRestoreFailed', { ...tokenOf(actorOf(at)), ...REASON, ran: true })
    expect(actorOf(failed)).toMatchObject({
      state: 'ACTOR_STATE_CRASHED',
      crash: { ...REASON, timeMs: NOW_MS },
    })
    const again = failed.when('ResumeActor', { trigger: 'caller' })
    expect(again.refusal).toMatchObject({ code: 'ACTOR_CRASHED', detail: 'PROBE_FAILED: never answered' })
  })

  it('crashes a golden actor in any case', () => {
    const at = resuming(golden())
    const failed = at.when('ReportRestoreFailed', { ...tokenOf(actorOf(at)), ...REASON, ran: false })
    expect(failed.names).toEqual(['ActorCrashed'])
  })

  const damage = (at: ReturnType<typeof resuming>, node: string) =>
    at.when(
      'ReportRestoreFailed',
      { ...tokenOf(actorOf(at)), code: 'SNAPSHOT_DAMAGED', message: 'digest', ran: false },
      { node },
    )

  it('gives up a damaged copy on the node when the object store has another', () => {
    const failed = damage(resuming(uploaded(checkpointed(), 2)), 'n1')
    expect(failed.names).toEqual(['SnapshotDetached', 'ActorResumeAbandoned'])
    expect(rows(failed)).toEqual(['ACTOR/COMPLETED/2'])
  })

  it('leaves the copy on another node alone when the one from the store is damaged', () => {
    const failed = damage(resuming(uploaded(checkpointed(), 2), 'n2'), 'n2')
    expect(failed.names).toEqual(['ActorResumeAbandoned'])
    expect(rows(failed)).toEqual(['ACTOR/COMPLETED/2@n1'])
  })

  it('is CRASHED when the last copy is damaged, never silently older', () => {
    const failed = damage(resuming(checkpointed()), 'n1')
    expect(failed.names).toEqual(['ActorResumeAbandoned', 'ActorSnapshotLost'])
    expect(actorOf(failed)).toMatchObject({
      state: 'ACTOR_STATE_CRASHED',
      crash: { code: 'SNAPSHOT_DAMAGED' },
      collect: [{ generation: 2, node: 'n1' }],
    })
    expect(rows(failed.when('RevertActor', { thenResume: false }))).toEqual(['TAG/COMPLETED/1'])
  })

  it('can be given up by the control plane when the node refuses to go', () => {
    const at = resuming()
    const data = { ...tokenOf(actorOf(at)), code: 'NODE_UNAVAILABLE', message: 'admission expired' }
    expect(at.when('AbandonResume', data).names).toEqual(['ActorResumeAbandoned'])
  })
})

describe('a deadline', () => {
  it('never decides: it is followed by the next until facts end the state', () => {
    const at = resuming()
    const [id = ''] = timerIds(at)
    const fired = at.at(NOW_MS + LIMITS.resumeDeadlineMs).when('FireTimer', { id })
    expect(fired.names).toEqual(['TimerFired'])
    const [next] = actorOf(fired).timers
    expect(next?.dueAtMs).toBe(NOW_MS + 2 * LIMITS.resumeDeadlineMs)
    expect(next?.id).not.toBe(id)
    expect(fired.when('FireTimer', { id }).names).toEqual([])
  })

  it('is gone with its state', () => {
    expect(timerIds(suspending())).toHaveLength(1)
    expect(timerIds(running())).toEqual([])
    expect(timerIds(checkpointed())).toEqual(['upload-2-0', 'detach-2'])
  })
})

describe('a resume asked for with an old admission', () => {
  it('joins when the actor runs already', () => {
    const joined = running().when('ResumeActor', { trigger: 'caller' }, { admission: admission('n2') })
    expect([joined.names, actorOf(joined).worker?.node]).toEqual([[], 'n1'])
  })
})
