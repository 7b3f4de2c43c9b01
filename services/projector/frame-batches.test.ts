import type { StoredFrame } from '@torpor/contracts'
import { LIMITS } from '@torpor/contracts'
import { expect, test } from 'vitest'
import type { KnownStates } from './fold-frames.ts'
import { forgetOldest } from './fold-frames.ts'
import { inBatches } from './frame-batches.ts'

const frame = (sequence: number, bytes: number): StoredFrame => ({ sequence, bytes: new Uint8Array(bytes) })

/** Frames that are all there at once; then the following waits for its end. */
async function* followOf(frames: readonly StoredFrame[], signal: AbortSignal) {
  yield* frames
  if (!signal.aborted) await new Promise<void>((resolve) => signal.addEventListener('abort', () => resolve()))
}

test('what is there already comes together, up to the first frame that fills the batch', async () => {
  const half = LIMITS.projectorBatchBytesMax / 2
  const frames = [frame(1, half), frame(2, half - 1), frame(3, 2), frame(4, 1)]
  const stop = new AbortController()
  const batches: number[][] = []
  for await (const batch of inBatches((signal) => followOf(frames, signal), stop.signal)) {
    batches.push(batch.map(({ sequence }) => sequence))
    if (batches.flat().length === frames.length) stop.abort()
  }
  expect(batches).toEqual([[1, 2, 3], [4]])
})

test('whoever leaves the loop ends the following, though no frame comes any more', async () => {
  const ended: boolean[] = []
  async function* follow(signal: AbortSignal) {
    yield* followOf([frame(1, 1)], signal)
    ended.push(true)
  }
  for await (const batch of inBatches(follow, new AbortController().signal)) {
    expect(batch).toHaveLength(1)
    break
  }
  expect(ended).toEqual([true])
})

test('a following that fails fails the reader', async () => {
  async function* follow() {
    yield frame(1, 1)
    throw new Error('the log is gone')
  }
  const read = async () => {
    for await (const _ of inBatches(follow, new AbortController().signal));
  }
  await expect(read()).rejects.toThrow('the log is gone')
})

test('the states that changed longest ago are forgotten first', () => {
  const known: KnownStates = new Map(
    ['a', 'b', 'c'].map((key) => [key, { gone: true, uid: key, untilMs: 0 }]),
  )
  forgetOldest(known, 3)
  expect([...known.keys()]).toEqual(['a', 'b', 'c'])
  forgetOldest(known, 1)
  expect([...known.keys()]).toEqual(['c'])
})
