import { decodeFrame, domainEventOf, entityKey, refuse } from '@torpor/contracts'
import { describe, expect, test } from 'vitest'
import type { Commit } from './actor-host.ts'
import { auditLog } from '@torpor/simulations/checkers/audit-log'
import { counterRef, simulatedWorld } from './testing/simulated-world.ts'

const A = counterRef('a')
const KEY_A = entityKey(A)

describe('a durable command', () => {
  test('that is refused leaves its "no" in the log, and nothing of its target changes', async () => {
    const { clock, log, start, command } = simulatedWorld()
    const { host } = await start('one')
    const commits: Commit[] = []
    host.onCommitted((commit) => commits.push(commit))
    await clock.run(host.submit(command('Create', A, {}, { durableSequence: 1 })))
    const refused = command('Create', A, {}, { durableSequence: 2 })
    const outcome = await clock.run(host.submit(refused))
    expect(outcome).toMatchObject({ ok: false, refusal: { code: 'ALREADY_EXISTS' }, duplicate: false })
    await clock.run(host.submit(command('Count', A)))
    const [created, no, counted] = auditLog(log.frames(0)).events
    expect(no === undefined ? undefined : domainEventOf(no)).toEqual({
      type: 'CommandRefused',
      data: { command: 'Create', code: 'ALREADY_EXISTS', id: 'demo/a', message: 'demo/a: exists already' },
    })
    expect(no).toMatchObject({ subject: KEY_A, version: 1, causationid: refused.id })
    expect(no).not.toHaveProperty('actoruid')
    expect(no?.actorprev).toBe(counted?.actorprev)
    expect([created?.version, counted?.version]).toEqual([1, 2])
    expect(commits[1]?.before).toBe(commits[1]?.after)
    expect(host.peek(A)).toMatchObject({ count: 1 })
  })

  test('that was refused is refused alike when it comes again, by the next owner too', async () => {
    const { clock, start, command } = simulatedWorld()
    const one = await start('one')
    const count = command('Count', A, {}, { durableSequence: 7 })
    const first = await clock.run(one.host.submit(count))
    expect(first).toMatchObject({ ok: false, refusal: { code: 'ACTOR_UNKNOWN' } })
    await clock.run(one.host.submit(command('Create', A)))
    expect(await clock.run(one.host.submit(count))).toEqual({ ...first, duplicate: true })
    await clock.run(one.host.close())
    const two = await start('two')
    expect(await clock.run(two.host.submit(count))).toEqual({ ...first, duplicate: true })
    expect(two.host.peek(A)).toMatchObject({ count: 0 })
  })

  test('that its door refuses is not decided; one that was decided stays decided', async () => {
    const { clock, log, start, command } = simulatedWorld()
    const { host } = await start('one')
    const refused = refuse('COMMAND_MALFORMED', 'Create')
    const outcome = await clock.run(host.submit(command('Create', A, {}, { durableSequence: 1, refused })))
    expect(outcome).toMatchObject({ ok: false, refusal: { code: 'COMMAND_MALFORMED' } })
    expect(host.peek(A)).toBeUndefined()
    const create = command('Create', A, {}, { durableSequence: 2 })
    await clock.run(host.submit(create))
    await clock.run(host.submit({ ...create, refused }))
    const types = auditLog(log.frames(0)).events.map((event) => domainEventOf(event)?.type)
    expect(types).toEqual(['CommandRefused', 'AtespaceCreated'])
  })

  test('at or below the floor is a duplicate, whatever its id', async () => {
    const { clock, start, command } = simulatedWorld()
    const { host } = await start('one')
    await clock.run(host.submit(command('Create', A, {}, { durableSequence: 4 })))
    host.advanceDurable(0, 4)
    expect(host.commandFloor(0)).toBe(4)
    const again = command('Count', A, {}, { durableSequence: 4 })
    expect(await clock.run(host.submit(again))).toMatchObject({ ok: true, version: 1, duplicate: true })
    expect(host.peek(A)).toMatchObject({ count: 0 })
    const next = command('Count', A, {}, { durableSequence: 5 })
    expect(await clock.run(host.submit(next))).toMatchObject({ ok: true, version: 2, duplicate: false })
  })

  test('may be decided out of order: only what the caller says raises the floor', async () => {
    const { clock, start, command } = simulatedWorld()
    const { host } = await start('one')
    await clock.run(host.submit(command('Create', A, {}, { durableSequence: 9 })))
    expect(host.commandFloor(0)).toBe(0)
    const earlier = command('Count', A, {}, { durableSequence: 3 })
    expect(await clock.run(host.submit(earlier))).toMatchObject({ ok: true, duplicate: false })
  })

  test('may be as old as it likes: its sequence tells whether it was decided', async () => {
    const { clock, start, command } = simulatedWorld()
    const { host } = await start('one')
    const create = command('Create', A, {}, { durableSequence: 1 })
    await clock.advance(3_600_000)
    expect(await clock.run(host.submit(create))).toMatchObject({ ok: true, duplicate: false })
  })

  test('that changes nothing has its floor written all the same, so that no later owner decides it again', async () => {
    const { clock, log, start, command } = simulatedWorld()
    const one = await start('one')
    await clock.run(one.host.submit(command('Create', A)))
    const look = command('Look', A, {}, { durableSequence: 6 })
    await clock.run(one.host.submit(look))
    const before = log.frames(0).length
    one.host.advanceDurable(0, 6)
    await clock.runUntil(() => log.frames(0).length > before)
    expect(decodeFrame(log.frames(0).at(-1) ?? new Uint8Array())).toMatchObject({
      header: { commandfloor: 6 },
      lines: [],
    })
    one.process.kill()
    const two = await start('two')
    await clock.runUntil(() => two.host.owns(0))
    expect(two.host.commandFloor(0)).toBe(6)
    expect(await clock.run(two.host.submit(look))).toMatchObject({ ok: true, duplicate: true })
  })
})

describe('the floor', () => {
  test('goes with the next frame, and the next owner begins from it', async () => {
    const { clock, log, start, command } = simulatedWorld()
    const one = await start('one')
    one.host.advanceDurable(0, 41)
    one.host.advanceDurable(0, 40)
    const before = log.frames(0).length
    await clock.advance(1_000)
    expect(log.frames(0)).toHaveLength(before)
    await clock.run(one.host.submit(command('Create', A)))
    await clock.run(one.host.close())
    const two = await start('two')
    expect(two.host.commandFloor(0)).toBe(41)
    expect(auditLog(log.frames(0)).headers.map(({ commandfloor }) => commandfloor)).toEqual([0, 41, 41])
  })
})
