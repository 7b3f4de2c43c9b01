import { expect, test } from 'vitest'
import type { Bus } from './ports/bus.ts'
import { systemClock } from './ports/clock.ts'
import { requestAgain } from './request-again.ts'

const bytes = (text: string): Uint8Array => new TextEncoder().encode(text)
const GIVEN = { timeoutMs: 5_000, againMs: 10, isFinal: (answer: Uint8Array) => answer.length > 1 }

/** A bus on which the nth request has the nth outcome; `never` is taken and not answered. */
function busOf(...outcomes: readonly string[]): { readonly bus: Bus; readonly sent: string[] } {
  const sent: string[] = []
  const bus: Bus = {
    publish: () => {},
    subscribe: () => ({ unsubscribe: () => {} }),
    close: async () => {},
    request(_subject, data) {
      const outcome = outcomes[sent.push(new TextDecoder().decode(data)) - 1]
      if (outcome === 'never') return new Promise(() => {})
      return outcome === undefined ? Promise.reject(new Error('nobody')) : Promise.resolve(bytes(outcome))
    },
  }
  return { bus, sent }
}

test('a request that somebody took with them is sent again, the same, and answered', async () => {
  const { bus, sent } = busOf('never', 'never', 'yes')
  expect(await requestAgain(bus, systemClock, 's', bytes('q'), GIVEN)).toEqual(bytes('yes'))
  expect(sent).toEqual(['q', 'q', 'q'])
})

test('an answer that decides nothing waits for what is still awaited, and is passed on when nothing is', async () => {
  const waiting = busOf('never', '-', 'yes')
  expect(await requestAgain(waiting.bus, systemClock, 's', bytes('q'), GIVEN)).toEqual(bytes('yes'))
  const alone = busOf('-')
  expect(await requestAgain(alone.bus, systemClock, 's', bytes('q'), GIVEN)).toEqual(bytes('-'))
})

test('a fault is passed on at once when nothing else is awaited', async () => {
  const { bus, sent } = busOf()
  await expect(requestAgain(bus, systemClock, 's', bytes('q'), GIVEN)).rejects.toThrow('nobody')
  expect(sent).toHaveLength(1)
})
