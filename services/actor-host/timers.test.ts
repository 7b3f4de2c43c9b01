import { LIMITS } from '@torpor/contracts'
import { describe, expect, test } from 'vitest'
import { auditLog } from '@torpor/simulations/checkers/audit-log'
import type { Counter } from './testing/counter.ts'
import { counterRef, simulatedWorld } from './testing/simulated-world.ts'

const A = counterRef('a')

const rang = (state: unknown): number => (state as Counter).rang

describe('a timer', () => {
  test('fires when it is due, once', async () => {
    const { clock, log, start, command } = simulatedWorld()
    const { host } = await start('one')
    await clock.run(host.submit(command('Create', A)))
    await clock.run(host.submit(command('SetAlarm', A, { atMs: clock.nowMs() + 5_000 })))
    await clock.advance(4_500)
    expect(rang(host.peek(A))).toBe(0)
    await clock.advance(1_000)
    expect(rang(host.peek(A))).toBe(1)
    await clock.advance(60_000)
    expect(rang(host.peek(A))).toBe(1)
    const fired = auditLog(log.frames(0)).events.at(-1)
    expect(fired).toMatchObject({
      type: 'dev.torpor.timer.fired.v1',
      principal: 'one',
      principalproof: 'system',
    })
  })

  test('that an event cleared does not fire', async () => {
    const { clock, start, command } = simulatedWorld()
    const { host } = await start('one')
    await clock.run(host.submit(command('Create', A)))
    await clock.run(host.submit(command('SetAlarm', A, { atMs: clock.nowMs() + 5_000 })))
    await clock.run(host.submit(command('SetAlarm', A, { atMs: clock.nowMs() + 50_000 })))
    await clock.advance(40_000)
    expect(rang(host.peek(A))).toBe(0)
    await clock.advance(11_000)
    expect(rang(host.peek(A))).toBe(1)
  })

  test('outlives its owner, also when it fell due in between', async () => {
    const { clock, start, command } = simulatedWorld()
    const one = await start('one')
    await clock.run(one.host.submit(command('Create', A)))
    await clock.run(one.host.submit(command('SetAlarm', A, { atMs: clock.nowMs() + 1_000 })))
    one.process.kill()
    await clock.advance(10_000)
    const two = await start('two')
    await clock.runUntil(() => two.host.owns(0) && rang(two.host.peek(A)) === 1)
  })

  test('fires again while it is still set: the log may have been away', async () => {
    const { clock, log, start, command } = simulatedWorld()
    const { host } = await start('one')
    await clock.run(host.submit(command('Create', A)))
    await clock.run(host.submit(command('SetAlarm', A, { atMs: clock.nowMs() + 1_000 })))
    await clock.run(host.submit(command('Create', counterRef('b'))))
    log.setFull(true)
    void host.submit(command('Count', A)).catch(() => undefined)
    await clock.advance(30_000)
    expect(rang(host.peek(A))).toBe(0)
    log.setFull(false)
    await clock.advance(LIMITS.recoveryBackoffMsMax + LIMITS.timerRetryMs + 1_000)
    expect(rang(host.peek(A))).toBe(1)
  })

  test('of many that are due together fires each', async () => {
    const { clock, start, command } = simulatedWorld()
    const { host } = await start('one', { timersFiredAtOnceMax: 8 })
    const refs = Array.from({ length: 50 }, (_, index) => counterRef(`n${index}`))
    await clock.run(Promise.all(refs.map((ref) => host.submit(command('Create', ref)))))
    const atMs = clock.nowMs() + 2_000
    await clock.run(Promise.all(refs.map((ref) => host.submit(command('SetAlarm', ref, { atMs })))))
    await clock.advance(4_000)
    expect(refs.map((ref) => rang(host.peek(ref)))).toEqual(refs.map(() => 1))
  })
})
