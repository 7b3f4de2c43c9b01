import { expect, test } from 'vitest'
import { createActorQueues } from './actor-queues.ts'
import { forEachAtOnce } from './for-each-at-once.ts'
import { createSemaphore } from './semaphore.ts'

test('operations of one actor run in order, also after a failure; another actor does not wait', async () => {
  const failures: string[] = []
  const queues = createActorQueues(10, (uid) => void failures.push(uid))
  const seen: string[] = []
  const first = Promise.withResolvers<void>()
  void queues.run('a', () => first.promise.then(() => seen.push('a1')))
  const failing = queues.run('a', () => Promise.reject(new Error('no')))
  void queues.run('a', async () => void seen.push('a3'))
  await queues.run('b', async () => void seen.push('b1'))
  first.resolve()
  await expect(failing).rejects.toThrow('no')
  await queues.idle()
  expect(seen).toEqual(['b1', 'a1', 'a3'])
  expect(failures).toEqual(['a'])
})

test('a full queue takes no more of what commands ask for, and takes again when it has room', async () => {
  const queues = createActorQueues(2, () => undefined)
  const held = Promise.withResolvers<void>()
  void queues.offer('a', () => held.promise)
  void queues.offer('a', async () => undefined)
  expect(queues.offer('a', async () => undefined)).toBeUndefined()
  expect(queues.offer('b', async () => undefined)).toBeDefined()
  held.resolve()
  await queues.idle()
  expect(queues.offer('a', async () => undefined)).toBeDefined()
})

test('a semaphore lets as many through as it has permits, and one given back twice counts once', async () => {
  const semaphore = createSemaphore(2)
  let inside = 0
  let most = 0
  const work = async (): Promise<void> => {
    inside += 1
    most = Math.max(most, inside)
    await Promise.resolve()
    inside -= 1
  }
  const giveBack = await semaphore.acquire()
  giveBack()
  giveBack()
  await Promise.all(Array.from({ length: 9 }, () => semaphore.run(work)))
  expect(most).toBe(2)
})

test('the first failure stops what has not begun, and is told when the rest is still', async () => {
  const begun: number[] = []
  const work = async (item: number): Promise<void> => {
    begun.push(item)
    if (item === 2) throw new Error('second')
  }
  await expect(forEachAtOnce([1, 2, 3, 4, 5, 6], 2, work)).rejects.toThrow('second')
  expect(begun.length).toBeLessThan(6)
})
