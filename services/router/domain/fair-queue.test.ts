import { array, assert, constantFrom, nat, property } from 'fast-check'
import { expect, test } from 'vitest'
import { createFairQueue } from './fair-queue.ts'

const drain = <Item>(queue: ReturnType<typeof createFairQueue<Item>>): Item[] => {
  const items: Item[] = []
  for (let item = queue.take(); item !== undefined; item = queue.take()) items.push(item)
  return items
}

test('lanes take turns, and each lane keeps its order', () => {
  const queue = createFairQueue<string>()
  const added = ['a1', 'a2', 'a3', 'b1', 'c1', 'c2']
  added.forEach((item, order) => queue.add(item.slice(0, 1), order, item))
  expect(drain(queue)).toEqual(['a1', 'b1', 'c1', 'a2', 'c2', 'a3'])
})

test('one that comes back keeps its place in its lane', () => {
  const queue = createFairQueue<string>()
  queue.add('a', 1, 'a1')
  queue.add('a', 2, 'a2')
  const first = queue.take()
  queue.add('a', 1, first ?? '')
  expect(drain(queue)).toEqual(['a1', 'a2'])
})

test('a removed item is never taken, and a lane that it empties takes no turn', () => {
  const queue = createFairQueue<string>()
  queue.add('a', 1, 'a1')
  queue.add('b', 2, 'b1')
  expect([queue.remove('a1'), queue.remove('a1'), queue.size]).toEqual([true, false, 1])
  expect(drain(queue)).toEqual(['b1'])
})

test('the position of every item is its place in the order of taking', () => {
  assert(
    property(array(constantFrom('a', 'b', 'c'), { maxLength: 30 }), nat(10), (lanes, taken) => {
      const queue = createFairQueue<number>()
      lanes.forEach((lane, index) => queue.add(lane, index, index))
      for (let index = 0; index < taken; index += 1) queue.take()
      const said = new Map(lanes.map((_lane, index) => [index, queue.position(index)]))
      drain(queue).forEach((item, index) => expect(said.get(item)).toBe(index + 1))
    }),
  )
})

test('one waits at most one turn of every other lane', () => {
  assert(
    property(array(constantFrom('a', 'b', 'c'), { maxLength: 60 }), (lanes) => {
      const queue = createFairQueue<string>()
      lanes.forEach((lane, index) => queue.add(lane, index, lane))
      queue.add('late', 1_000, 'late')
      const order = drain(queue)
      expect(order.indexOf('late')).toBeLessThanOrEqual(new Set(lanes).size)
    }),
  )
})
