import { expect, test } from 'vitest'
import { systemClock } from './ports/clock.ts'
import { requestAgain } from './request-again.ts'

const bytes = (text: string): Uint8Array => new TextEncoder().encode(text)
const GIVEN = { timeoutMs: 5_000, againMs: 10, isFinal: (answer: Uint8Array) => answer.length > 1 }

/** The nth call has the nth outcome; `never` is taken and not answered. */
function sendOf(...outcomes: readonly string[]) {
  const calls: number[] = []
  const send = (timeoutMs: number): Promise<Uint8Array> => {
    const outcome = outcomes[calls.push(timeoutMs) - 1]
    if (outcome === 'never') return new Promise(() => {})
    return outcome === undefined ? Promise.reject(new Error('nobody')) : Promise.resolve(bytes(outcome))
  }
  return { send, calls }
}

test('a request that somebody took with them is sent again, and answered', async () => {
  const { send, calls } = sendOf('never', 'never', 'yes')
  expect(await requestAgain(systemClock, send, GIVEN)).toEqual(bytes('yes'))
  expect(calls).toHaveLength(3)
})

test('an answer that decides nothing waits for what is still awaited, and is passed on when nothing is', async () => {
  expect(await requestAgain(systemClock, sendOf('never', '-', 'yes').send, GIVEN)).toEqual(bytes('yes'))
  expect(await requestAgain(systemClock, sendOf('-').send, GIVEN)).toEqual(bytes('-'))
})

test('a fault is passed on at once when nothing else is awaited', async () => {
  const { send, calls } = sendOf()
  await expect(requestAgain(systemClock, send, GIVEN)).rejects.toThrow('nobody')
  expect(calls).toHaveLength(1)
})
