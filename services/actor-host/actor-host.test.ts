import type { CloudEvent } from '@torpor/contracts'
import { LIMITS, decodeFrame, entityKey, formatUuidV7, isGone, parseCloudEvent } from '@torpor/contracts'
import { describe, expect, test } from 'vitest'
import type { Commit } from './actor-host.ts'
import { auditLog } from '@torpor/simulations/checkers/audit-log'
import type { Counter } from './testing/counter.ts'
import { COUNTER_GONE_MS } from './testing/counter.ts'
import { counterRef, settle, simulatedWorld } from './testing/simulated-world.ts'

const A = counterRef('a')
const B = counterRef('b')
const KEY_A = entityKey(A)

describe('a command', () => {
  test('is decided, committed and answered with its result and version', async () => {
    const { clock, log, start, command } = simulatedWorld()
    const { host } = await start('one')
    expect(await clock.run(host.submit(command('Create', A)))).toMatchObject({ ok: true, version: 1 })
    expect(await clock.run(host.submit(command('Count', A, { by: 5, times: 3 })))).toEqual({
      ok: true,
      version: 4,
      result: { count: 15 },
      duplicate: false,
    })
    expect(auditLog(log.frames(0)).states.get(KEY_A)).toMatchObject({ count: 15 })
    expect(host.peek(A)).toMatchObject({ count: 15 })
    expect([...host.entities(0)]).toMatchObject([{ ref: A, version: 4, state: { count: 15 } }])
  })

  test('is not answered before its frame is in the log', async () => {
    const { clock, log, start, command } = simulatedWorld()
    const { host } = await start('one')
    const before = log.frames(0).length
    let framesAtAnswer = 0
    const answered = host.submit(command('Create', A)).finally(() => {
      framesAtAnswer = log.frames(0).length
    })
    await Promise.resolve()
    expect(host.peek(A)).toBeUndefined()
    await clock.run(answered)
    expect(framesAtAnswer).toBe(before + 1)
  })

  test('that is refused writes nothing', async () => {
    const { clock, log, start, command } = simulatedWorld()
    const { host } = await start('one')
    const before = log.frames(0).length
    expect(await clock.run(host.submit(command('Count', A)))).toMatchObject({
      ok: false,
      refusal: { code: 'ACTOR_UNKNOWN', id: 'demo/a' },
    })
    expect(log.frames(0)).toHaveLength(before)
  })

  test('that changes nothing is answered with its result', async () => {
    const { clock, start, command } = simulatedWorld()
    const { host } = await start('one')
    await clock.run(host.submit(command('Create', A)))
    expect(await clock.run(host.submit(command('Look', A)))).toEqual({
      ok: true,
      version: 1,
      result: { count: 0 },
      duplicate: false,
    })
  })

  test('of a kind that nobody decides is unknown', async () => {
    const { clock, start, command } = simulatedWorld()
    const { host } = await start('one')
    const target = { kind: 'node', atespace: '_', name: 'n1' } as const
    expect(await clock.run(host.submit(command('DrainNode', target)))).toMatchObject({
      refusal: { code: 'COMMAND_UNKNOWN' },
    })
  })

  test('whose event is too large is refused, and so is one whose events fit no frame', async () => {
    const { clock, log, start, command } = simulatedWorld()
    const { host } = await start('one')
    await clock.run(host.submit(command('Create', A)))
    const before = log.frames(0).length
    const note = 'x'.repeat(LIMITS.eventBytesMax)
    const large = await clock.run(host.submit(command('SetAlarm', A, { note })))
    expect(large).toMatchObject({ ok: false, refusal: { code: 'EVENT_TOO_LARGE' } })
    const many = await clock.run(host.submit(command('Count', A, { times: 4_000 })))
    expect(many).toMatchObject({ ok: false, refusal: { code: 'EVENT_TOO_LARGE' } })
    expect(log.frames(0)).toHaveLength(before)
    expect(host.peek(A)).toMatchObject({ count: 0 })
  })

  test('finds a full mailbox busy, at the limit', async () => {
    const { clock, start, command } = simulatedWorld()
    const { host } = await start('one', { mailboxCommandsMax: 10 })
    await clock.run(host.submit(command('Create', A)))
    const all = Array.from({ length: 11 }, () => settle(host.submit(command('Count', A))))
    const settled = await clock.run(Promise.all(all))
    expect(settled.map(({ kind }) => kind)).toEqual([...Array(10).fill('outcome'), 'fault'])
    expect(settled.at(-1)).toEqual({ kind: 'fault', code: 'SHARD_BUSY' })
  })
})

describe('the same command id', () => {
  test('is applied once and answered alike', async () => {
    const { clock, start, command } = simulatedWorld()
    const { host } = await start('one')
    await clock.run(host.submit(command('Create', A)))
    const count = command('Count', A, { by: 2 })
    const [first, second] = await clock.run(Promise.all([host.submit(count), host.submit(count)]))
    expect(second).toEqual({ ...first, duplicate: true })
    expect(await clock.run(host.submit(count))).toEqual({ ...first, duplicate: true })
    expect(host.peek(A)).toMatchObject({ count: 2 })
  })

  test('with another body is refused', async () => {
    const { clock, start, command } = simulatedWorld()
    const { host } = await start('one')
    const create = command('Create', A)
    await clock.run(host.submit(create))
    const other = command('Count', A, { by: 2 }, { id: create.id })
    expect(await clock.run(host.submit(other))).toMatchObject({ refusal: { code: 'COMMAND_ID_REUSED' } })
  })

  test('is known to the next owner too', async () => {
    const { clock, start, command } = simulatedWorld()
    const one = await start('one')
    await clock.run(one.host.submit(command('Create', A)))
    const count = command('Count', A, { by: 2, times: 2 })
    await clock.run(one.host.submit(count))
    await clock.run(one.host.close())
    const two = await start('two')
    expect(await clock.run(two.host.submit(count))).toMatchObject({ ok: true, version: 3, duplicate: true })
    const other = command('Count', A, { by: 9 }, { id: count.id })
    expect(await clock.run(two.host.submit(other))).toMatchObject({ refusal: { code: 'COMMAND_ID_REUSED' } })
    expect(two.host.peek(A)).toMatchObject({ count: 4 })
  })

  test('is expired when its time is before the window, and was never meant when it is far ahead', async () => {
    const { clock, start, command } = simulatedWorld()
    const { host } = await start('one')
    await clock.run(host.submit(command('Create', A)))
    const at = (ms: number) => ({ id: formatUuidV7(clock.nowMs() + ms, new Uint8Array(10)) })
    const submit = (id: { id: string }) => clock.run(host.submit(command('Count', A, {}, id)))
    expect(await submit(at(-LIMITS.idempotencyWindowMs - 1_000))).toMatchObject({
      refusal: { code: 'COMMAND_EXPIRED' },
    })
    expect(await submit(at(LIMITS.clockSkewMsMax + 1_000))).toMatchObject({
      refusal: { code: 'COMMAND_MALFORMED' },
    })
    expect(await submit({ id: 'my-id' })).toMatchObject({ refusal: { code: 'COMMAND_MALFORMED' } })
    expect(await submit(at(-LIMITS.idempotencyWindowMs + 1_000))).toMatchObject({ ok: true })
  })

  test('of a report is taken whatever its form and age', async () => {
    const { clock, start, command } = simulatedWorld()
    const { host } = await start('one')
    const principal = { principal: 'node-1', proof: 'system' } as const
    const report = command('Create', A, {}, { id: 'report-1', principal })
    expect(await clock.run(host.submit(report))).toMatchObject({ ok: true, duplicate: false })
    expect(await clock.run(host.submit(report))).toMatchObject({ ok: true, duplicate: true })
  })

  test('that was pushed out of a full window is expired, not applied again', async () => {
    const { clock, start, command } = simulatedWorld()
    const { host } = await start('one', { idempotencyEntriesMax: 5, clockSkewMsMax: 10 })
    await clock.run(host.submit(command('Create', A)))
    const first = command('Count', A)
    await clock.run(host.submit(first))
    await clock.advance(1_000)
    for (let count = 0; count < 6; count += 1) await clock.run(host.submit(command('Count', A)))
    expect(await clock.run(host.submit(first))).toMatchObject({ refusal: { code: 'COMMAND_EXPIRED' } })
    expect(host.peek(A)).toMatchObject({ count: 7 })
  })
})

describe('a frame', () => {
  test('holds what was accepted while others were in flight, and no more than four are', async () => {
    const { clock, log, start, command } = simulatedWorld()
    const { host } = await start('one')
    await clock.run(host.submit(command('Create', A)))
    const before = log.frames(0).length
    const flood: Promise<unknown>[] = []
    for (let turn = 0; turn < 20; turn += 1) {
      for (let count = 0; count < 10; count += 1) flood.push(host.submit(command('Count', A)))
      await Promise.resolve()
      await Promise.resolve()
    }
    await clock.run(Promise.all(flood))
    const frames = log.frames(0).slice(before).map(decodeFrame)
    expect(frames.map(({ lines }) => lines.length)).toEqual([10, 10, 10, 10, 160])
  })

  test('holds its share of what waits when several may go', async () => {
    const { clock, log, start, command } = simulatedWorld()
    const { host } = await start('one', { frameCommandsMin: 10 })
    await clock.run(host.submit(command('Create', A)))
    const before = log.frames(0).length
    const submitMany = (count: number): Promise<unknown> =>
      Promise.all(Array.from({ length: count }, () => host.submit(command('Count', A))))
    await clock.run(submitMany(9))
    await clock.run(submitMany(80))
    const frames = log.frames(0).slice(before).map(decodeFrame)
    expect(frames.map(({ lines }) => lines.length)).toEqual([9, 20, 20, 20, 20])
  })

  test('is never larger than its limits in bytes and events', async () => {
    const { clock, log, start, command } = simulatedWorld()
    const { host } = await start('one', { frameBytesMax: 8_192, eventBytesMax: 4_096, frameEventsMax: 12 })
    await clock.run(host.submit(command('Create', A)))
    const notes = Array.from({ length: 30 }, (_, index) =>
      host.submit(command('SetAlarm', A, { atMs: clock.nowMs() + 1e9, note: 'x'.repeat(index * 90) })),
    )
    const counts = Array.from({ length: 50 }, () => host.submit(command('Count', A, { times: 3 })))
    await clock.run(Promise.all([...notes, ...counts]))
    for (const bytes of log.frames(0)) {
      expect(bytes.byteLength).toBeLessThanOrEqual(8_192)
      expect(decodeFrame(bytes).lines.length).toBeLessThanOrEqual(12)
    }
    expect(auditLog(log.frames(0)).states.get(KEY_A)).toMatchObject({ count: 150 })
  })

  test('begins the log with the number of shards and the owner, under epoch 1', async () => {
    const { log, start } = simulatedWorld()
    await start('one')
    const { header, lines } = decodeFrame(log.frames(0)[0] ?? new Uint8Array())
    expect(header).toMatchObject({ shard: 0, epoch: 1, frame: 1, commandfloor: 0 })
    const events = lines.map(parseCloudEvent)
    expect(events.map(({ type, data }) => ({ type, data }))).toEqual([
      { type: 'dev.torpor.shard.created.v1', data: { shards: 1, formatVersion: 1 } },
      { type: 'dev.torpor.shard.owned.v1', data: { owner: 'one' } },
    ])
  })

  test('names in each event who asked, why, and what was before it', async () => {
    const { clock, log, start, command } = simulatedWorld()
    const { host } = await start('one')
    await clock.run(host.submit(command('Create', A)))
    const count = command('Count', A, { times: 2 }, { traceparent: '00-1-2-01' })
    await clock.run(host.submit(count))
    const [created, first, second] = auditLog(log.frames(0)).events
    expect(created).toMatchObject({ actoruid: (host.peek(A) as Counter).uid })
    expect(first).toMatchObject({
      specversion: '1.0',
      source: 'torpor/one',
      subject: 'actor/demo/a',
      actoruid: created?.actoruid,
      version: 2,
      epoch: 1,
      causationid: count.id,
      correlationid: count.correlationId,
      commanddigest: count.digest,
      traceparent: '00-1-2-01',
      principal: 'someone',
      principalproof: 'subject',
    })
    expect(second).toMatchObject({ version: 3, causationid: count.id })
    expect(second).not.toHaveProperty('commanddigest')
  })

  test('never goes back in time, even when the clock of the next owner is behind', async () => {
    const { clock, log, start, command } = simulatedWorld()
    const one = await start('one')
    await clock.run(one.host.submit(command('Create', A)))
    await clock.run(one.host.close())
    const behindMs = -LIMITS.clockSkewMsMax + 100
    const two = await start('two', {}, behindMs)
    await clock.run(two.host.submit(command('Count', A)))
    const times = auditLog(log.frames(0)).headers.map(({ timeMs }) => timeMs)
    expect(times).toEqual(times.toSorted((a, b) => a - b))
    expect(times.at(-1)).toBeGreaterThan(clock.nowMs() + behindMs)
  })
})

describe('what is committed', () => {
  test('is told in the order of the log, with the state before and after', async () => {
    const { clock, log, start, command } = simulatedWorld()
    const { host, faults } = await start('one')
    const commits: Commit[] = []
    const seen: unknown[] = []
    host.onCommitted(() => {
      throw new Error('a listener that throws')
    })
    const end = host.onCommitted((commit) => {
      commits.push(commit)
      seen.push(host.peek(commit.ref))
    })
    await clock.run(host.submit(command('Create', A)))
    await clock.run(
      Promise.all([host.submit(command('Count', A, { times: 2 })), host.submit(command('Create', B))]),
    )
    expect(commits.map(({ cloudEvent }) => cloudEvent)).toEqual(auditLog(log.frames(0)).events)
    expect(commits.map(({ before, after }) => [countOf(before), countOf(after)])).toEqual([
      [undefined, 0],
      [0, 1],
      [1, 2],
      [undefined, 0],
    ])
    expect(seen).toEqual(commits.map(({ after }) => after))
    expect(faults).toHaveLength(4)
    end()
    await clock.run(host.submit(command('Count', A)))
    expect(commits).toHaveLength(4)
  })

  test('is published as it stands in the log, in order', async () => {
    const { clock, log, start, command } = simulatedWorld()
    const { host } = await start('one')
    await clock.run(host.submit(command('Create', A)))
    await clock.run(host.submit(command('Count', A, { times: 3 })))
    await clock.runUntil(() => log.published.length === 4)
    expect(new Set(log.published.map(({ subject }) => subject))).toEqual(new Set(['torpor.v1.evt.demo.a']))
    const versions = log.published.map(({ line }) => (JSON.parse(line) as CloudEvent).version)
    expect(versions).toEqual([1, 2, 3, 4])
    const inLog = log.frames(0).flatMap((bytes) => decodeFrame(bytes).lines)
    for (const { line } of log.published) expect(inLog).toContain(line)
  })
})

describe('a read', () => {
  test('sees what was accepted before it, and waits for that to be in the log', async () => {
    const { clock, log, start, command } = simulatedWorld()
    const { host } = await start('one')
    await clock.run(host.submit(command('Create', A)))
    const before = log.frames(0).length
    void host.submit(command('Count', A, { by: 3 }))
    let framesAtAnswer = 0
    const read = host.read(A).then((result) => {
      framesAtAnswer = log.frames(0).length
      return result
    })
    expect(await clock.run(read)).toMatchObject({ state: { count: 3 }, version: 2 })
    expect(framesAtAnswer).toBe(before + 1)
  })

  test('of what is not there gives nothing, version 0', async () => {
    const { clock, start } = simulatedWorld()
    const { host } = await start('one')
    expect(await clock.run(host.read(A))).toEqual({ state: undefined, version: 0 })
  })
})

describe('a deleted name', () => {
  test('is remembered for a while, begins anew when it is created again, and is forgotten', async () => {
    const { clock, log, start, command } = simulatedWorld()
    const { host } = await start('one')
    await clock.run(host.submit(command('Create', A)))
    await clock.run(host.submit(command('Count', A)))
    await clock.run(host.submit(command('Delete', A)))
    expect(isGone(host.peek(A))).toBe(true)
    expect(await clock.run(host.read(A))).toMatchObject({ version: 0, state: { gone: true } })
    expect([...host.entities(0)]).toEqual([])
    expect(await clock.run(host.submit(command('Count', A)))).toMatchObject({
      refusal: { code: 'ACTOR_GONE' },
    })
    expect(await clock.run(host.submit(command('Create', A)))).toMatchObject({ ok: true, version: 1 })
    expect(host.peek(A)).toMatchObject({ count: 0 })
    await clock.run(host.submit(command('Delete', A)))
    expect(auditLog(log.frames(0)).events.map(({ version }) => version)).toEqual([1, 2, 3, 1, 2])
    await clock.advance(COUNTER_GONE_MS + 1)
    expect(host.peek(A)).toBeUndefined()
    expect(await clock.run(host.submit(command('Count', A)))).toMatchObject({
      refusal: { code: 'ACTOR_UNKNOWN' },
    })
  })
})

const countOf = (state: unknown): number | undefined => (state as Counter | undefined)?.count
