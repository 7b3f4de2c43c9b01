import { expect, test } from 'vitest'
import { atMost } from './at-most.ts'

test('no more than so many run at once, in order of arrival, and a failure makes room', async () => {
  const inTurn = atMost(2)
  const begun: number[] = []
  let running = 0
  let most = 0
  const work = async (index: number): Promise<number> => {
    begun.push(index)
    running += 1
    most = Math.max(most, running)
    await Promise.resolve()
    running -= 1
    if (index % 3 === 0) throw new Error(`work ${index}`)
    return index
  }
  const ended = await Promise.allSettled(Array.from({ length: 10 }, (_, index) => inTurn(() => work(index))))
  expect(begun).toEqual([0, 1, 2, 3, 4, 5, 6, 7, 8, 9])
  expect(most).toBe(2)
  expect(ended.filter(({ status }) => status === 'fulfilled')).toHaveLength(6)
})
