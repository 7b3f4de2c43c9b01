import type { Outcome } from '@torpor/contracts'
import { LIMITS, decodeFrame } from '@torpor/contracts'
import type { AppendFault } from '@torpor/simulations'
import { faultsAt, noFaults, randomFaults, seededRandom } from '@torpor/simulations'
import { describe, expect, test } from 'vitest'
import { auditLog } from '@torpor/simulations/checkers/audit-log'
import type { Counter } from './testing/counter.ts'
import type { Settled } from './testing/simulated-world.ts'
import { counterRef, settle, simulatedWorld } from './testing/simulated-world.ts'

const A = counterRef('a')

/** Faults for the next appends: the first of the list for the next one, and so on. */
const planNext = (world: ReturnType<typeof simulatedWorld>, faults: readonly AppendFault[]): void => {
  let next = 0
  world.log.plant(() => faults[next++] ?? 'none')
}

const outcomeOf = (settled: Settled): Outcome => {
  if (settled.kind === 'fault') throw new Error(`ended with fault ${settled.code}`)
  return settled.outcome
}

/** What every recovery must leave: each acknowledged command once, no other refused one, and the host's state that of the log. */
function expectExactlyOnce(
  world: ReturnType<typeof simulatedWorld>,
  peek: (ref: typeof A) => unknown,
  acknowledged: readonly string[],
): void {
  const audit = auditLog(world.log.frames(0))
  for (const id of acknowledged) expect(audit.framesOfCommand.get(id), `frames of ${id}`).toBe(1)
  for (const [id, frames] of audit.framesOfCommand) expect(frames, `frames of ${id}`).toBe(1)
  for (const [key, state] of audit.states) {
    const [, , name = ''] = key.split('/')
    expect(peek(counterRef(name))).toEqual(state)
  }
}

describe('an append that ends without its PubAck', () => {
  const endings: readonly AppendFault[] = ['lost', 'unanswered', 'late', 'refused', 'inFlightConflict']

  test.for(endings)('(%s, the second of four) leaves every command decided once', async (ending) => {
    const world = simulatedWorld()
    const { clock, command, log } = world
    const { host } = await world.start('one')
    await clock.run(host.submit(command('Create', A)))
    planNext(world, ['none', ending])
    const counts: Promise<Settled>[] = []
    const others: Promise<unknown>[] = []
    const ids: string[] = []
    for (let index = 0; index < 50; index += 1) {
      const count = command('Count', A, { by: 1 })
      ids.push(count.id)
      counts.push(settle(host.submit(count)))
      if (index % 5 === 0) others.push(settle(host.submit(command('Count', A, { by: -1 }))))
      if (index % 7 === 0) others.push(host.read(A))
      if (index % 9 === 0) others.push(settle(host.submit(count)))
      if (index % 11 === 0) others.push(settle(host.submit(command('Create', counterRef(`n${index}`)))))
      for (let turns = index % 10 === 0 ? 3 : 0; turns > 0; turns -= 1) await Promise.resolve()
    }
    const settled = await clock.run(Promise.all(counts))
    await clock.run(Promise.all(others))
    expect(settled.map((one) => outcomeOf(one).ok)).toEqual(Array(50).fill(true))
    const versions = settled.map((one) => (outcomeOf(one) as { version: number }).version)
    expect(versions).toEqual(Array.from({ length: 50 }, (_, index) => index + 2))
    const results = settled.map((one) => (outcomeOf(one) as { result: unknown }).result)
    expect(results).toEqual(Array.from({ length: 50 }, (_, index) => ({ count: index + 1 })))
    await clock.advance(60_000)
    expect(auditLog(log.frames(0)).headers.at(-1)?.epoch).toBe(2)
    expectExactlyOnce(world, host.peek, ids)
    expect(host.peek(A)).toMatchObject({ count: 50 })
  })

  test('lets reads and refusals wait, and answers them from what became of the log', async () => {
    const world = simulatedWorld()
    const { clock, command } = world
    const { host } = await world.start('one')
    planNext(world, ['lost'])
    const created = settle(host.submit(command('Create', A)))
    const refused = settle(host.submit(command('Create', A)))
    const read = host.read(A).then((result) => result)
    const states: string[] = []
    void created.then(() => states.push('created'))
    void refused.then(() => states.push('refused'))
    void read.then(() => states.push('read'))
    await clock.advance(LIMITS.appendTimeoutMs - 1_000)
    expect(states).toEqual([])
    expect(outcomeOf(await clock.run(created))).toMatchObject({ ok: true, version: 1 })
    expect(outcomeOf(await clock.run(refused))).toMatchObject({ refusal: { code: 'ALREADY_EXISTS' } })
    expect(await clock.run(read)).toMatchObject({ version: 1 })
    expect(states).toEqual(['created', 'refused', 'read'])
  })

  test('that landed all the same is answered with what was decided, not decided again', async () => {
    const world = simulatedWorld()
    const { clock, command, log } = world
    const { host } = await world.start('one')
    const before = log.frames(0).length
    planNext(world, ['unanswered'])
    const commits: number[] = []
    host.onCommitted(({ cloudEvent }) => commits.push(cloudEvent.version))
    const create = command('Create', A)
    expect(await clock.run(host.submit(create))).toEqual({
      ok: true,
      version: 1,
      result: { count: 0 },
      duplicate: false,
    })
    expect(log.frames(0)).toHaveLength(before + 2)
    expect(commits).toEqual([1])
    expect(await clock.run(host.submit(create))).toMatchObject({ result: { count: 0 }, duplicate: true })
    await clock.runUntil(() => log.published.length > 0)
  })

  test('is never sent again', async () => {
    const world = simulatedWorld()
    const { clock, command, log } = world
    const { host } = await world.start('one')
    const sent: string[] = []
    log.plant(({ bytes, count }) => {
      sent.push(new TextDecoder().decode(bytes))
      return count % 3 === 0 ? 'lost' : 'none'
    })
    for (let count = 0; count < 10; count += 1) {
      await clock.run(host.submit(command('Create', counterRef(`n${count}`))))
    }
    expect(new Set(sent).size).toBe(sent.length)
  })
})

describe('an append that lands late', () => {
  test('after the barrier is refused by the log', async () => {
    const world = simulatedWorld()
    const { clock, command, log } = world
    const { host } = await world.start('one')
    await clock.run(host.submit(command('Create', A)))
    planNext(world, ['late'])
    const count = command('Count', A)
    expect(await clock.run(host.submit(count))).toMatchObject({ ok: true, version: 2 })
    await clock.advance(60_000)
    expectExactlyOnce(world, host.peek, [count.id])
    expect(auditLog(log.frames(0)).voidEvents).toEqual([])
  })

  test('just before the barrier makes the barrier try again, and counts', async () => {
    const world = simulatedWorld()
    const { clock, command, log } = world
    const { host } = await world.start('one')
    await clock.run(host.submit(command('Create', A)))
    const delayed: Uint8Array[] = []
    log.plant(({ bytes, expectedLastSequence }) => {
      const [late] = delayed
      if (late === undefined) {
        delayed.push(bytes)
        return 'lost'
      }
      if (delayed.length === 1) {
        log.store(0).append(late, expectedLastSequence)
        delayed.push(bytes)
      }
      return 'none'
    })
    const count = command('Count', A, { by: 7 })
    expect(await clock.run(host.submit(count))).toMatchObject({ version: 2, result: { count: 7 } })
    expect(delayed).toHaveLength(2)
    expectExactlyOnce(world, host.peek, [count.id])
    expect(auditLog(log.frames(0)).headers.map(({ epoch }) => epoch)).toEqual([1, 1, 1, 2])
  })

  test('behind one that was lost is not applied a second time', async () => {
    const world = simulatedWorld()
    const { clock, command } = world
    const { host } = await world.start('one')
    await clock.run(host.submit(command('Create', A)))
    planNext(world, ['lost', 'late'])
    const counts = [command('Count', A), command('Count', A, { by: 10 })]
    const settled: Promise<Settled>[] = []
    for (const count of counts) {
      settled.push(settle(host.submit(count)))
      await Promise.resolve()
      await Promise.resolve()
    }
    const [first] = await clock.run(Promise.all(settled))
    expect(outcomeOf(first as Settled)).toMatchObject({ ok: true, version: 2 })
    await clock.advance(60_000)
    expectExactlyOnce(
      world,
      host.peek,
      counts.map(({ id }) => id),
    )
  })

  test('of an owner that is fenced, in the gap that the new barrier filled for it, is void for all', async () => {
    const world = simulatedWorld()
    const { clock, command, log } = world
    const one = await world.start('one')
    await clock.run(one.host.submit(command('Create', A)))
    planNext(world, ['lost', 'late'])
    const answers: Settled[] = []
    for (const by of [1, 10]) {
      void settle(one.host.submit(command('Count', A, { by }))).then((settled) => answers.push(settled))
      await Promise.resolve()
      await Promise.resolve()
    }
    one.process.pause()
    const two = world.spawn('two')
    await clock.run(two.host.start())
    await clock.runUntil(() => two.host.owns(0))
    await clock.runUntil(() => auditLog(log.frames(0)).voidEvents.length > 0)
    expect(auditLog(log.frames(0)).voidEvents).toMatchObject([{ data: { silentMs: 10 }, epoch: 1 }])
    one.process.resume()
    await clock.runUntil(() => answers.length === 2)
    expect(answers).toEqual([1, 2].map(() => ({ kind: 'fault', code: 'SHARD_MOVED' })))
    expect(await clock.run(two.host.submit(command('Count', A, { by: 100 })))).toMatchObject({
      ok: true,
      version: 2,
      result: { count: 100 },
    })
    expectExactlyOnce(world, two.host.peek, [])
    await clock.run(one.host.close())
    await clock.run(two.host.close())
    const three = await world.start('three')
    await clock.runUntil(() => three.host.owns(0))
    expect(three.host.peek(A)).toMatchObject({ count: 100 })
  })
})

describe('a log that takes nothing', () => {
  test('keeps what waits, refuses what comes, serves reads, and goes on when it heals', async () => {
    const world = simulatedWorld()
    const { clock, command, log } = world
    const { host } = await world.start('one')
    await clock.run(host.submit(command('Create', A)))
    log.setFull(true)
    const waiting = Array.from({ length: 20 }, () => settle(host.submit(command('Count', A))))
    await clock.advance(2_000)
    expect(await clock.run(settle(host.submit(command('Count', A))))).toEqual({
      kind: 'fault',
      code: 'LOG_UNAVAILABLE',
    })
    expect(await clock.run(host.read(A))).toMatchObject({ state: { count: 0 }, version: 1 })
    expect(host.owns(0)).toBe(true)
    log.setFull(false)
    const settled = await clock.run(Promise.all(waiting))
    expect(settled.map((one) => outcomeOf(one).ok)).toEqual(Array(20).fill(true))
    expect(await clock.run(host.submit(command('Count', A)))).toMatchObject({ version: 22 })
  })

  test('and does not answer at all is the same', async () => {
    const world = simulatedWorld()
    const { clock, command, log } = world
    const { host } = await world.start('one')
    await clock.run(host.submit(command('Create', A)))
    log.setDown(true)
    const waiting = settle(host.submit(command('Count', A)))
    await clock.advance(LIMITS.appendTimeoutMs * 4)
    expect(await clock.run(settle(host.submit(command('Count', A))))).toMatchObject({
      code: 'LOG_UNAVAILABLE',
    })
    log.setDown(false)
    expect(outcomeOf(await clock.run(waiting))).toMatchObject({ ok: true, version: 2 })
  })

  test('at the start is waited for', async () => {
    const world = simulatedWorld()
    world.log.setFull(true)
    const { host } = world.spawn('one')
    const started = host.start()
    await world.clock.advance(10_000)
    expect(host.ownedShards()).toEqual([])
    world.log.setFull(false)
    await world.clock.run(started)
    expect(host.ownedShards()).toEqual([0])
  })
})

describe('whatever happens to appends', () => {
  test.for(Array.from({ length: 25 }, (_, seed) => seed))(
    'every command is applied once (seed %i)',
    async (seed) => {
      const world = simulatedWorld({ seed })
      const { clock, command, log } = world
      const random = seededRandom(seed)
      const { host } = await world.start('one')
      const chances = { lost: 0.04, unanswered: 0.04, late: 0.04, refused: 0.04, inFlightConflict: 0.04 }
      log.plant(randomFaults(random.branch(), chances))
      const settled: Promise<Settled>[] = []
      const commands = Array.from({ length: 120 }, (_, index) => {
        const target = counterRef(`n${random.between(0, 3)}`)
        return command(index < 20 ? 'Create' : 'Count', target, index < 20 ? {} : { by: 1 })
      })
      for (const one of commands) {
        settled.push(settle(host.submit(one)))
        if (random.chance(0.1)) settled.push(settle(host.submit(one)))
        if (random.chance(0.3)) await clock.advance(random.between(0, 300))
      }
      await clock.run(Promise.all(settled))
      log.plant(noFaults)
      await clock.run(host.submit(command('Create', counterRef('end'))))
      await clock.advance(30_000)
      const results = await Promise.all(settled)
      const done = results.filter((one) => one.kind === 'outcome' && one.outcome.ok)
      expect(done.length).toBeGreaterThan(0)
      const counted = commands.filter(({ type }) => type === 'Count')
      expectExactlyOnce(world, host.peek, [])
      const total = [0, 1, 2, 3]
        .map((n) => (host.peek(counterRef(`n${n}`)) as Counter | undefined)?.count ?? 0)
        .reduce((sum, count) => sum + count, 0)
      const applied = auditLog(log.frames(0)).framesOfCommand
      expect(total).toBe(counted.filter(({ id }) => applied.has(id)).length)
    },
  )

  test('the frames of a shard are one chain of bytes', async () => {
    const world = simulatedWorld()
    const { clock, command, log } = world
    const { host } = await world.start('one')
    log.plant(faultsAt({ 3: 'lost', 6: 'late', 9: 'unanswered' }))
    for (let index = 0; index < 15; index += 1) {
      await clock.run(host.submit(command('Create', counterRef(`n${index}`))))
    }
    auditLog(log.frames(0))
    const broken = log
      .frames(0)
      .map((bytes, index) => (index === 4 ? bytes.map((byte, at) => (at === 400 ? byte ^ 1 : byte)) : bytes))
    expect(decodeFrame(broken[4] ?? new Uint8Array()).header.frame).toBe(5)
    expect(() => auditLog(broken)).toThrow(/does not follow|not JSON/)
  })
})
