import type { AppendResult, StoredFrame } from '@torpor/contracts'

export type FrameStore = {
  readonly frames: readonly Uint8Array[]
  append(bytes: Uint8Array, expectedLastSequence: number): AppendResult
  lastSequence(): number
  between(from: number, to: number): readonly StoredFrame[]
  /** Loses what was stored after that time. */
  loseAfter(timeMs: number): void
  /** True when the frame is there, false when the signal came first. */
  waitFor(sequence: number, signal: AbortSignal): Promise<boolean>
}

/** What the log of one shard holds; `nowMs` says when it was stored. */
export function createFrameStore(nowMs: () => number): FrameStore {
  const frames: Uint8Array[] = []
  const storedAtMs: number[] = []
  const arrivals = new EventTarget()
  return {
    frames,
    append(bytes, expectedLastSequence) {
      if (expectedLastSequence !== frames.length) return { kind: 'conflict' }
      frames.push(bytes)
      storedAtMs.push(nowMs())
      arrivals.dispatchEvent(new Event('frame'))
      return { kind: 'committed', sequence: frames.length }
    },
    lastSequence: () => frames.length,
    loseAfter(timeMs) {
      const kept = storedAtMs.filter((atMs) => atMs <= timeMs).length
      storedAtMs.splice(kept)
      frames.splice(kept)
    },
    between: (from, to) =>
      frames
        .slice(Math.max(0, from - 1), Math.max(0, to))
        .map((bytes, index) => ({ sequence: from + index, bytes })),
    waitFor: (sequence, signal) =>
      new Promise((resolve) => {
        if (signal.aborted) return resolve(false)
        if (frames.length >= sequence) return resolve(true)
        const done = new AbortController()
        const settle = (isThere: boolean): void => {
          done.abort()
          resolve(isThere)
        }
        signal.addEventListener('abort', () => settle(false), { signal: done.signal })
        arrivals.addEventListener('frame', () => frames.length >= sequence && settle(true), {
          signal: done.signal,
        })
      }),
  }
}
