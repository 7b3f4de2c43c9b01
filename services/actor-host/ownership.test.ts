import { LIMITS, decodeFrame, encodeFrame } from '@torpor/contracts'
import { describe, expect, test } from 'vitest'
import { auditLog } from '@torpor/simulations/checkers/audit-log'
import type { HostProcess, Settled } from './testing/simulated-world.ts'
import { counterRef, settle, simulatedWorld } from './testing/simulated-world.ts'

const A = counterRef('a')

const owned = (...hosts: readonly HostProcess[]): number[][] =>
  hosts.map(({ host }) => [...host.ownedShards()])

describe('members', () => {
  test('share the shards out evenly, and a new one takes its share', async () => {
    const { clock, start } = simulatedWorld({ shards: 8 })
    const one = await start('one')
    expect(owned(one)).toEqual([[0, 1, 2, 3, 4, 5, 6, 7]])
    const two = await start('two')
    await clock.runUntil(() => two.host.ownedShards().length === 4, 1_000)
    const three = await start('three')
    await clock.runUntil(() => three.host.ownedShards().length === 2, 1_000)
    const all = owned(one, two, three)
    expect(all.map((shards) => shards.length).toSorted()).toEqual([2, 3, 3])
    expect(all.flat().toSorted()).toEqual([0, 1, 2, 3, 4, 5, 6, 7])
  })

  test('that start together settle on their shares', async () => {
    const { clock, spawn } = simulatedWorld({ shards: 5 })
    const hosts = ['one', 'two', 'three'].map((name) => spawn(name))
    await clock.run(Promise.all(hosts.map(({ host }) => host.start())))
    await clock.runUntil(() => owned(...hosts).flat().length === 5, 10_000)
    await clock.advance(5_000)
    expect(
      owned(...hosts)
        .map((shards) => shards.length)
        .toSorted(),
    ).toEqual([1, 2, 2])
  })

  test('that close hand over in milliseconds', async () => {
    const { clock, start, command } = simulatedWorld({ shards: 4 })
    const one = await start('one')
    const two = await start('two')
    await clock.runUntil(() => two.host.ownedShards().length === 2)
    const beganMs = clock.monotonicMs()
    await clock.run(one.host.close())
    await clock.runUntil(() => two.host.ownedShards().length === 4)
    expect(clock.monotonicMs() - beganMs).toBeLessThan(200)
    expect(await clock.run(two.host.submit(command('Create', A)))).toMatchObject({ ok: true })
    expect(one.faults).toEqual([])
    expect(two.faults).toEqual([])
  })

  test('that die lose their shards when their leases run out', async () => {
    const { clock, start } = simulatedWorld({ shards: 4 })
    const one = await start('one')
    const two = await start('two')
    await clock.runUntil(() => two.host.ownedShards().length === 2)
    one.process.kill()
    const beganMs = clock.monotonicMs()
    await clock.runUntil(() => two.host.ownedShards().length === 4)
    expect(clock.monotonicMs() - beganMs).toBeLessThan(LIMITS.shardLeaseMs + 200)
  })

  test('tell what they own and what they lose', async () => {
    const { clock, spawn, start } = simulatedWorld({ shards: 2 })
    const told: string[] = []
    const one = spawn('one')
    one.host.onOwned((shard) => told.push(`+${shard} ${one.host.owns(shard)}`))
    one.host.onLost((shard) => told.push(`-${shard} ${one.host.owns(shard)}`))
    await clock.run(one.host.start())
    expect(told.toSorted()).toEqual(['+0 true', '+1 true'])
    await start('two')
    await clock.runUntil(() => told.length === 3)
    expect(told.at(-1)).toBe('-1 false')
    await clock.run(one.host.close())
    expect(told.at(-1)).toBe('-0 false')
  })
})

describe('a command at the wrong member', () => {
  test('ends with SHARD_MOVED, and so does a read; peek gives nothing', async () => {
    const { clock, spawn, command } = simulatedWorld()
    const { host } = spawn('one')
    expect(await clock.run(settle(host.submit(command('Create', A))))).toEqual({
      kind: 'fault',
      code: 'SHARD_MOVED',
    })
    await expect(clock.run(host.read(A))).rejects.toMatchObject({ code: 'SHARD_MOVED' })
    expect(host.peek(A)).toBeUndefined()
    expect([...host.entities(0)]).toEqual([])
    expect(host.shardOf(A)).toBe(0)
  })

  test('that waits when its shard is closed ends with SHARD_MOVED, and what is in flight is answered', async () => {
    const { clock, log, start, command } = simulatedWorld()
    const { host } = await start('one', { appendsInFlightMax: 1 })
    const inFlight = settle(host.submit(command('Create', A)))
    await Promise.resolve()
    await Promise.resolve()
    const waits = settle(host.submit(command('Count', A)))
    await clock.run(host.close())
    expect(await inFlight).toMatchObject({ outcome: { ok: true } })
    expect(await waits).toEqual({ kind: 'fault', code: 'SHARD_MOVED' })
    expect(auditLog(log.frames(0)).events).toHaveLength(1)
  })
})

describe('a new owner', () => {
  test('has the state, versions and chain of the one before', async () => {
    const { clock, log, start, command } = simulatedWorld({ shards: 2 })
    const one = await start('one')
    for (let index = 0; index < 40; index += 1) {
      const ref = counterRef(`n${index % 10}`)
      await clock.run(one.host.submit(command(index < 10 ? 'Create' : 'Count', ref, { by: index })))
    }
    await clock.run(one.host.submit(command('Delete', counterRef('n3'))))
    const stateOf = ({ host }: HostProcess) =>
      [0, 1].map((shard) => [...host.entities(shard)].toSorted((a, b) => (a.ref.name < b.ref.name ? -1 : 1)))
    const before = stateOf(one)
    expect(before.flat()).toHaveLength(9)
    await clock.run(one.host.close())
    const two = await start('two')
    expect(stateOf(two)).toEqual(before)
    await clock.run(two.host.submit(command('Count', counterRef('n1'))))
    for (const shard of [0, 1]) {
      expect(auditLog(log.frames(shard)).headers.map(({ epoch }) => epoch)).toContain(2)
    }
  })

  test('publishes the last events again, for the one before may have died before it did', async () => {
    const { clock, log, start, command } = simulatedWorld()
    const one = await start('one')
    await clock.run(one.host.submit(command('Create', A)))
    await clock.runUntil(() => log.published.length === 1)
    one.process.kill()
    const two = await start('two')
    await clock.runUntil(() => two.host.owns(0))
    await clock.runUntil(() => log.published.length === 2)
    expect(log.published[1]).toEqual(log.published[0])
  })

  test('of a log that was made for another number of shards refuses to start', async () => {
    const world = simulatedWorld({ shards: 2 })
    const one = await world.start('one')
    await world.clock.run(one.host.close())
    const other = simulatedWorld({ shards: 1 })
    for (const bytes of world.log.frames(0)) {
      other.log.store(0).append(bytes, other.log.frames(0).length)
    }
    const { host, faults } = other.spawn('one')
    await expect(other.clock.run(host.start())).rejects.toMatchObject({ code: 'CONFIG_INVALID' })
    expect(host.ownedShards()).toEqual([])
    expect(faults[0]?.message).toMatch(/made for 2 shards/)
  })

  test('whose clock is behind the log by more than the bound refuses to start', async () => {
    const { clock, start, spawn } = simulatedWorld()
    const one = await start('one')
    await clock.run(one.host.close())
    const { host } = spawn('two', {}, -LIMITS.clockSkewMsMax - 1_000)
    await expect(clock.run(host.start())).rejects.toMatchObject({ code: 'CONFIG_INVALID' })
  })

  test('of a log whose chain is broken refuses to start', async () => {
    const { clock, log, start, spawn, command } = simulatedWorld()
    const one = await start('one')
    await clock.run(one.host.submit(command('Create', A)))
    await clock.run(one.host.close())
    const last = log.frames(0).at(-1) ?? new Uint8Array()
    const { header } = decodeFrame(last)
    const forged = encodeFrame({ ...header, frame: header.frame + 1, frameprev: 'f'.repeat(64) }, [])
    log.store(0).append(forged, log.frames(0).length)
    const { host } = spawn('two')
    await expect(clock.run(host.start())).rejects.toMatchObject({ code: 'INTERNAL' })
  })
})

describe('two owners at a time', () => {
  /** One is stopped in the middle of its work, two takes over, one goes on as if nothing had been. */
  const stopped = async (seed: number) => {
    const world = simulatedWorld({ seed })
    const { clock, command } = world
    const one = await world.start('one')
    await clock.run(one.host.submit(command('Create', A)))
    const early: Promise<Settled>[] = []
    for (let index = 0; index < 12; index += 1) {
      early.push(settle(one.host.submit(command('Count', A))))
      if (index % 3 === 0) await clock.advance(0.3)
    }
    one.process.pause()
    const two = world.spawn('two')
    await clock.run(two.host.start())
    await clock.runUntil(() => two.host.owns(0))
    return { ...world, one, two, early }
  }

  test.for([1, 2, 3, 4, 5])('cannot both commit (seed %i)', async (seed) => {
    const { clock, log, one, two, early, command } = await stopped(seed)
    expect(await clock.run(two.host.submit(command('Count', A, { by: 100 })))).toMatchObject({ ok: true })
    one.process.resume()
    const late = [1, 2, 3].map(() => settle(one.host.submit(command('Count', A, { by: 1_000 }))))
    const lateEnds = await clock.run(Promise.all(late))
    expect(lateEnds).toEqual([1, 2, 3].map(() => ({ kind: 'fault', code: 'SHARD_MOVED' })))
    const earlyEnds = await clock.run(Promise.all(early))
    const acknowledged = earlyEnds.filter((end) => end.kind === 'outcome' && end.outcome.ok).length
    await clock.runUntil(() => !one.host.owns(0))
    const audit = auditLog(log.frames(0))
    expect(two.host.peek(A)).toEqual(audit.states.get('actor/demo/a'))
    const landed = audit.events.filter(({ data }) => (data as { silentMs?: number }).silentMs === 1).length
    expect(landed).toBeGreaterThanOrEqual(acknowledged)
    expect(two.host.peek(A)).toMatchObject({ count: landed + 100 })
  })

  test('the stopped one answers no read from its old state', async () => {
    const { clock, one, two, command } = await stopped(1)
    await clock.run(two.host.submit(command('Count', A, { by: 100 })))
    one.process.resume()
    await expect(clock.run(one.host.read(A))).rejects.toMatchObject({ code: 'SHARD_MOVED' })
  })
})

describe('an owner that cannot renew its lease in time', () => {
  test('decides nothing until it is renewed, and goes on if nobody took the shard', async () => {
    const { clock, leases, start, command } = simulatedWorld()
    const { host, process } = await start('one')
    await clock.run(host.submit(command('Create', A)))
    const watcher = leases.connect()
    process.pause()
    await clock.advance(LIMITS.shardLeaseMs + 1_000)
    expect(await clock.run(watcher.list())).toEqual([])
    process.resume()
    expect(await clock.run(host.read(A))).toMatchObject({ version: 1 })
    expect(await clock.run(watcher.list())).toMatchObject([{ owner: 'one' }])
    expect(await clock.run(host.submit(command('Count', A)))).toMatchObject({ ok: true, version: 2 })
  })
})
