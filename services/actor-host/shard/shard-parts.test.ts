import { isUuidV7, systemRandom, timeOfUuidV7 } from '@torpor/contracts'
import { array, assert, integer, oneof, constant, property, record } from 'fast-check'
import { simulatedClock } from '@torpor/simulations'
import { describe, expect, test } from 'vitest'
import { createFifo } from './fifo.ts'
import { createIdSource } from './id-source.ts'
import { createTimerHeap } from './timer-heap.ts'

describe('a fifo', () => {
  test('does what an array does, whatever the order of calls', () => {
    const steps = array(oneof(integer(), constant('shift'), constant('putBack')), { maxLength: 4_000 })
    assert(
      property(steps, (calls) => {
        const fifo = createFifo<number>()
        const array: number[] = []
        for (const call of calls) {
          if (call === 'shift') expect(fifo.shift()).toBe(array.shift())
          else if (typeof call === 'number') {
            fifo.push(call)
            array.push(call)
          } else {
            fifo.putBack([1, 2])
            array.unshift(1, 2)
          }
          expect(fifo.size).toBe(array.length)
          expect(fifo.peek()).toBe(array[0])
        }
        expect(fifo.drain()).toEqual(array)
        expect(fifo.size).toBe(0)
      }),
      { numRuns: 30 },
    )
  })

  test('stays right when thousands went through it', () => {
    const fifo = createFifo<number>()
    let next = 0
    for (let count = 0; count < 10_000; count += 1) {
      fifo.push(count)
      if (count % 3 > 0) expect(fifo.shift()).toBe(next++)
    }
    expect(fifo.drain()[0]).toBe(next)
  })
})

describe('a timer heap', () => {
  const timers = array(
    record({ dueAtMs: integer({ min: 0, max: 50 }), key: constant('k'), id: constant('t') }),
  )

  test('gives out the earliest first', () => {
    assert(
      property(timers, (all) => {
        const heap = createTimerHeap()
        for (const timer of all) heap.push(timer)
        expect(heap.size).toBe(all.length)
        const out = all.map(() => heap.pop()?.dueAtMs)
        expect(out).toEqual(all.map(({ dueAtMs }) => dueAtMs).toSorted((a, b) => a - b))
        expect(heap.pop()).toBeUndefined()
      }),
    )
  })

  test('keeps its order when it is swept and filled again', () => {
    assert(
      property(timers, timers, (first, second) => {
        const heap = createTimerHeap()
        const isKept = ({ dueAtMs }: { dueAtMs: number }): boolean => dueAtMs % 2 === 0
        for (const timer of first) heap.push(timer)
        heap.sweep(isKept)
        for (const timer of second) heap.push(timer)
        const left = [...first.filter(isKept), ...second].map(({ dueAtMs }) => dueAtMs)
        expect(left.map(() => heap.pop()?.dueAtMs)).toEqual(left.toSorted((a, b) => a - b))
      }),
    )
  })
})

describe('the source of ids', () => {
  test('gives UUIDv7s of the time, none twice', () => {
    const clock = simulatedClock()
    const newId = createIdSource(clock, systemRandom)
    const ids = Array.from({ length: 2_000 }, newId)
    expect(new Set(ids).size).toBe(ids.length)
    expect(ids.every(isUuidV7)).toBe(true)
    expect(ids.every((id) => timeOfUuidV7(id) === clock.nowMs())).toBe(true)
  })
})
