/** The value in the middle of the sorted samples; the mean of the two middle ones for an even count. NaN for none. */
export function median(samples: readonly number[]): number {
  const sorted = samples.toSorted((a, b) => a - b)
  const middle = sorted.length / 2
  const upper = sorted[Math.floor(middle)] ?? Number.NaN
  return Number.isInteger(middle) ? (upper + (sorted[middle - 1] ?? Number.NaN)) / 2 : upper
}

/** Ratio of medians, rounded to three places: what a bar quotes. */
export const ratioOfMedians = (samples: readonly number[], others: readonly number[]): number =>
  Math.round((median(samples) / median(others)) * 1000) / 1000

export const round1 = (value: number): number => Math.round(value * 10) / 10
