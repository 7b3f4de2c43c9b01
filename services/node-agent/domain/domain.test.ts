import { array, assert, double, property } from 'fast-check'
import { expect, test } from 'vitest'
import { judgeAssignment } from './assignments.ts'
import { startPhases } from './phases.ts'

const assignment = (epoch: number, sequence: number) => ({ actorUid: 'a', epoch, sequence })

test('an assignment is judged by epoch, then by sequence', () => {
  const known = { assignment: assignment(2, 5) }
  expect(judgeAssignment(undefined, assignment(0, 0))).toBe('new')
  expect(judgeAssignment(known, assignment(2, 5))).toBe('same')
  expect(judgeAssignment(known, assignment(2, 6))).toBe('new')
  expect(judgeAssignment(known, assignment(3, 1))).toBe('new')
  expect(judgeAssignment(known, assignment(2, 4))).toBe('old')
  expect(judgeAssignment(known, assignment(1, 9))).toBe('old')
})

test('the phases of a start sum up to their total and none is negative, whatever was done before the Go', () => {
  const step = double({ min: 0, max: 1_000, noNaN: true })
  assert(
    property(array(step, { minLength: 7, maxLength: 7 }), step, step, step, step, (steps, a, b, c, d) => {
      const at: number[] = []
      for (const ms of steps) at.push((at.at(-1) ?? 500) + ms)
      const [
        receivedMs = 0,
        begunMs = 0,
        placedMs = 0,
        restoreFromMs = 0,
        restoreToMs = 0,
        probedMs = 0,
        openedMs = 0,
      ] = at
      const fetchFromMs = Math.max(0, placedMs - a - b - c - d)
      const fetch = { fromMs: fetchFromMs, toMs: fetchFromMs + a }
      const verify = { fromMs: fetch.toMs + b, toMs: Math.min(placedMs, fetch.toMs + b + c) }
      const marks = { receivedMs, begunMs, placedMs, restoreFromMs, restoreToMs, probedMs, openedMs }
      const { total = 0, ...parts } = startPhases({ ...marks, fetch, verify: orderly(verify) })
      const values = Object.values(parts)
      expect(values.reduce((sum, ms) => sum + ms, 0)).toBeCloseTo(total, 6)
      expect(Math.min(...values)).toBeGreaterThanOrEqual(-1e-6)
    }),
  )
})

const orderly = ({ fromMs, toMs }: { fromMs: number; toMs: number }) =>
  fromMs <= toMs ? { fromMs, toMs } : { fromMs: toMs, toMs }
