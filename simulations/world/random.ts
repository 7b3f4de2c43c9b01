import type { Random } from '@torpor/contracts'

/** Randomness that one seed draws: the same seed gives the same world. */
export type SeededRandom = Random & {
  /** In 0 ≤ x < 1. */
  fraction(): number
  /** A whole number from `min` to `max`, both included. */
  between(min: number, max: number): number
  /** True with this probability. */
  chance(probability: number): boolean
  /** Another stream of randomness, drawn from this one. */
  branch(): SeededRandom
}

/**
 * Randomness from a seed: SplitMix32, 32 bits of state.
 * Source: Steele, Lea, Flood, "Fast splittable pseudorandom number generators" (constants of its 32-bit finalizer: MurmurHash3).
 */
export function seededRandom(seed: number): SeededRandom {
  let state = seed >>> 0
  const next = (): number => {
    state = (state + 0x9e3779b9) >>> 0
    let mixed = Math.imul(state ^ (state >>> 16), 0x85ebca6b)
    mixed = Math.imul(mixed ^ (mixed >>> 13), 0xc2b2ae35)
    return (mixed ^ (mixed >>> 16)) >>> 0
  }
  const fraction = (): number => next() / 2 ** 32
  return {
    bytes: (count) => Uint8Array.from({ length: count }, () => next() & 0xff),
    fraction,
    between: (min, max) => min + Math.floor(fraction() * (max - min + 1)),
    chance: (probability) => fraction() < probability,
    branch: () => seededRandom(next()),
  }
}
