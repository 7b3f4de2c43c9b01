import { randomBytes } from 'node:crypto'

/** Randomness as an argument, so that one seed can draw a whole world. */
export interface Random {
  /** `count` random bytes. */
  bytes(count: number): Uint8Array
}

/** The randomness of the machine. */
export const systemRandom: Random = { bytes: (count) => new Uint8Array(randomBytes(count)) }
