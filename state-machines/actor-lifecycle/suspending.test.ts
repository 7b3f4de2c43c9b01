import { describe, expect, it } from 'vitest'
import { LIMITS } from '@torpor/contracts'
import {
  NOW_MS,
  UID,
  actorOf,
  checkpointed,
  golden,
  rows,
  running,
  snapshotRow,
  suspended,
  suspending,
  timerIds,
  tokenOf,
  uploaded,
} from '../given.ts'
import { planNodeActions } from './plan-node-actions.ts'

const DELAYS = { snapshotConfig: { uploadDelay: '3s', detachDelay: '10s' } }
const REASON = { code: 'STORE_UNAVAILABLE', message: 'refused' }
const uploadFailed = { generation: 2, manifestDigest: 'blake3:2', ...REASON }
const verbs = (at: ReturnType<typeof running>) => planNodeActions(actorOf(at)).map(({ verb }) => verb)

describe('an asynchronous suspend', () => {
  const at = () => checkpointed(suspending(running(suspended(DELAYS))))

  it('is at rest once the node has the copy; the one before stays as fall-back', () => {
    expect(actorOf(at())).toMatchObject({ state: 'ACTOR_STATE_SUSPENDED', assignedNode: 'n1' })
    expect(actorOf(at()).worker).toBeUndefined()
    expect(rows(at())).toEqual(['TAG/COMPLETED/1', 'ACTOR/PENDING/2@n1'])
    expect(actorOf(at()).timers).toEqual([
      { id: 'upload-2-0', kind: 'upload', generation: 2, dueAtMs: NOW_MS + 3_000 },
      { id: 'detach-2', kind: 'detach', generation: 2, dueAtMs: NOW_MS + 10_000 },
    ])
  })

  it('uploads after the delay, and only then releases what is lower', () => {
    expect(verbs(at())).toEqual([])
    const due = at().when('FireTimer', { id: 'upload-2-0' })
    expect(verbs(due)).toEqual(['Upload'])
    const done = uploaded(due, 2)
    expect(done.names).toEqual(['SnapshotCompleted', 'SnapshotReleased'])
    expect(rows(done)).toEqual(['ACTOR/COMPLETED/2@n1'])
    expect(actorOf(done).snapshots[0]?.manifestDigest).toBe('blake3:2')
    expect(actorOf(done).collect).toEqual([])
    expect(uploaded(done, 2).names).toEqual([])
  })

  it('completes its generation although the actor was woken meanwhile', () => {
    const done = uploaded(running(at()), 2)
    expect(actorOf(done).state).toBe('ACTOR_STATE_RUNNING')
    expect(rows(done)).toEqual(['ACTOR/COMPLETED/2@n1'])
  })

  it('does not know the digest of its image before the upload tells it, and takes no other afterwards', () => {
    expect(actorOf(at()).snapshots[1]).not.toHaveProperty('manifestDigest')
    const other = { generation: 2, manifestDigest: 'blake3:other', uri: 'x', bytes: 1, elapsedMs: 1 }
    const again = uploaded(at(), 2).when('ReportUploaded', other)
    expect([again.names, actorOf(again).snapshots[0]?.manifestDigest]).toEqual([[], 'blake3:2'])
  })

  it('does not take an upload of other bytes for an image whose digest its node had told', () => {
    const before = suspending()
    const snapshot = { ...snapshotRow(2), manifestDigest: 'blake3:2' }
    const told = before.when('ReportCheckpointed', { ...tokenOf(actorOf(before)), snapshot, phasesMs: {} })
    const other = { generation: 2, manifestDigest: 'blake3:other', uri: 'x', bytes: 1, elapsedMs: 1 }
    expect(told.when('ReportUploaded', other).refusal?.code).toBe('SNAPSHOT_UNKNOWN')
  })

  it('tries a failed upload again, later each time up to a limit, and harms nothing', () => {
    let failed = at().when('FireTimer', { id: 'upload-2-0' })
    const waitsMs: number[] = []
    for (let attempts = 1; attempts <= 10; attempts += 1) {
      failed = failed.when('ReportUploadFailed', uploadFailed)
      const row = actorOf(failed).snapshots.find(({ generation }) => generation === 2)
      expect(row).toMatchObject({ attempts, lastError: 'STORE_UNAVAILABLE: refused' })
      waitsMs.push((row?.nextAttemptAtMs ?? 0) - NOW_MS)
      expect(verbs(failed)).toEqual([])
      failed = failed.when('FireTimer', { id: `upload-2-${attempts}` })
      expect(verbs(failed)).toEqual(['Upload'])
    }
    expect(waitsMs.slice(0, 3)).toEqual([1_000, 2_000, 4_000])
    expect(waitsMs.at(-1)).toBe(LIMITS.uploadBackoffMsMax)
    expect(rows(failed)).toEqual(['TAG/COMPLETED/1', 'ACTOR/PENDING/2@n1'])
    expect(actorOf(uploaded(failed, 2)).snapshots[0]).not.toHaveProperty('lastError')
  })

  it('drops the copy on the node after the detach delay, but never before COMPLETED', () => {
    const detachDue = at().when('FireTimer', { id: 'upload-2-0' }).when('FireTimer', { id: 'detach-2' })
    expect(verbs(detachDue)).toEqual(['Upload'])
    const done = uploaded(detachDue, 2)
    expect(verbs(done)).toEqual(['DropSnapshot'])
    const dropped = done.when('ReportSnapshotDropped', { generation: 2 }, { node: 'n1' })
    expect(dropped.names).toEqual(['SnapshotDetached'])
    expect(rows(dropped)).toEqual(['ACTOR/COMPLETED/2'])
    expect([actorOf(dropped).assignedNode, verbs(dropped)]).toEqual(['', []])
  })

  it('answers a report that comes again without a second event', () => {
    const known = at()
    const row = actorOf(known).snapshots[1]
    const again = known.when('ReportCheckpointed', { epoch: 3, sequence: 2, snapshot: row, phasesMs: {} })
    expect([again.names, again.refusal]).toEqual([[], undefined])
  })
})

describe('suspends that follow one another before an upload', () => {
  const second = () => {
    const woken = running(checkpointed(suspending(running(suspended(DELAYS)))))
    return checkpointed(suspending(woken.at(NOW_MS + 2_000)))
  }

  it('keep the superseded generation until the newer one is COMPLETED', () => {
    expect(rows(second())).toEqual(['TAG/COMPLETED/1', 'ACTOR/PENDING/2@n1', 'ACTOR/PENDING/3@n1'])
    const done = uploaded(second().when('FireTimer', { id: 'upload-3-0' }), 3)
    expect(done.names).toEqual(['SnapshotCompleted', 'SnapshotReleased', 'SnapshotReleased'])
    expect(rows(done)).toEqual(['ACTOR/COMPLETED/3@n1'])
    expect(actorOf(done).collect).toEqual([{ generation: 2, node: 'n1', uri: `actors/${UID}/0000000002` }])
    expect(verbs(done)).toEqual(['CollectSnapshot'])
    const collected = done.when('ReportSnapshotCollected', { generation: 2 })
    expect([collected.names, verbs(collected)]).toEqual([['SnapshotCollected'], []])
  })

  it('upload the newest only, and no later than the first was due', () => {
    expect(timerIds(second())).toEqual(['detach-2', 'upload-3-0', 'detach-3'])
    const timer = actorOf(second()).timers.find(({ kind }) => kind === 'upload')
    expect(timer?.dueAtMs).toBe(NOW_MS + 3_000)
    const failed = second().when('ReportUploadFailed', uploadFailed)
    expect([failed.names, failed.refusal]).toEqual([[], undefined])
  })

  it('keep what an upload that was under way still brings', () => {
    const done = uploaded(second(), 2)
    expect(rows(done)).toEqual(['ACTOR/COMPLETED/2@n1', 'ACTOR/PENDING/3@n1'])
  })
})

describe('a synchronous suspend', () => {
  const kept = () => checkpointed(suspending(running(), 'sync'))

  it('is SUSPENDING until the object store has the image', () => {
    expect(kept().names).toEqual(['ActorCheckpointed'])
    expect(actorOf(kept())).toMatchObject({ state: 'ACTOR_STATE_SUSPENDING', phase: 'uploading' })
    expect(verbs(kept())).toEqual(['Upload'])
    const done = uploaded(kept(), 2)
    expect(done.names).toEqual(['ActorSuspended', 'SnapshotReleased'])
    expect(rows(done)).toEqual(['ACTOR/COMPLETED/2@n1'])
    expect(actorOf(done).snapshots[0]?.manifestDigest).toBe('blake3:2')
    expect(timerIds(done)).toEqual(['detach-2'])
  })

  it('stays so while uploads fail', () => {
    const failed = kept().when('ReportUploadFailed', uploadFailed)
    expect(failed.names).toEqual(['SnapshotUploadFailed'])
    expect(actorOf(failed).state).toBe('ACTOR_STATE_SUSPENDING')
    expect(verbs(failed)).toEqual([])
    expect(verbs(failed.when('FireTimer', { id: 'upload-2-1' }))).toEqual(['Upload'])
  })

  it('loses nothing by an end of the process or of the node after the image', () => {
    const exited = kept().when('ReportExited', { ...tokenOf(actorOf(kept())), ...REASON })
    expect(exited.names).toEqual([])
    const lost = kept().when('DeclareNodeLost', { node: 'n1' })
    expect(lost.names).toEqual(['ActorSuspended'])
    expect(rows(lost)).toEqual(['TAG/COMPLETED/1', 'ACTOR/PENDING/2@n1'])
  })
})

describe('a suspend that does not happen', () => {
  it('leaves the actor RUNNING, and the generation is not used again', () => {
    const at = suspending()
    const token = tokenOf(actorOf(at))
    const abandoned = at.when('ReportCheckpointAbandoned', {
      ...token,
      generation: 2,
      code: 'SUSPEND_NO_SPACE',
      message: 'disk',
    })
    expect(abandoned.names).toEqual(['ActorSuspendAbandoned'])
    expect(actorOf(abandoned)).toMatchObject({ state: 'ACTOR_STATE_RUNNING', timers: [] })
    expect(actorOf(suspending(abandoned)).suspend?.generation).toBe(3)
  })

  it('refuses an image of a generation that was not asked for', () => {
    const at = suspending()
    const snapshot = { ...actorOf(checkpointed()).snapshots[1], generation: 9 }
    const refused = at.when('ReportCheckpointed', { ...tokenOf(actorOf(at)), snapshot, phasesMs: {} })
    expect(refused.refusal?.code).toBe('SNAPSHOT_UNKNOWN')
  })
})

describe('an idle actor', () => {
  const idle = (at: ReturnType<typeof running>) =>
    at.when('ReportIdleTimedOut', { ...tokenOf(actorOf(at)), idleMs: 60_000 })

  it('suspends only when its template says so', () => {
    expect(idle(running()).names).toEqual([])
    expect(idle(running(suspended({ idleTimeout: '1m' }))).events[0]?.data).toMatchObject({
      mode: 'async',
      trigger: 'idle',
    })
  })

  it('never suspends a golden actor', () => {
    expect(idle(running(golden())).names).toEqual([])
  })
})
