import type { SeededRandom } from '../random.ts'

/**
 * What the world does with an append:
 * - `none`: it arrives, is judged by its expected sequence and answered
 * - `lost`: it never arrives; no answer
 * - `unanswered`: it arrives and is judged, the answer is lost
 * - `late`: it arrives only after its sender gave up, and is judged then
 * - `refused`: the log stores nothing and says so
 * - `inFlightConflict`: answered as a conflict with another append in flight, though the sequence was right (error 10164 of a
 *   clustered stream)
 */
export type AppendFault = 'none' | 'lost' | 'unanswered' | 'late' | 'refused' | 'inFlightConflict'

export type SentAppend = {
  readonly shard: number
  /** Counts the appends of this shard from 1. */
  readonly count: number
  readonly bytes: Uint8Array
  readonly expectedLastSequence: number
}

/** Decides what happens to each append. */
export type FaultPlan = (append: SentAppend) => AppendFault

export const noFaults: FaultPlan = () => 'none'

/** Each fault with its own probability. */
export const randomFaults =
  (random: SeededRandom, chances: Readonly<Partial<Record<AppendFault, number>>>): FaultPlan =>
  () => {
    let rest = random.fraction()
    for (const [fault, chance] of Object.entries(chances) as [AppendFault, number][]) {
      if (rest < chance) return fault
      rest -= chance
    }
    return 'none'
  }

/** The given faults for the appends of these counts, none for others: `faultsAt({ 3: 'lost' })`. */
export const faultsAt =
  (byCount: Readonly<Record<number, AppendFault>>): FaultPlan =>
  ({ count }) =>
    byCount[count] ?? 'none'
