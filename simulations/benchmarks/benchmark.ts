/** A value with a limit that the project holds itself to. */
export type Bar = {
  readonly name: string
  readonly value: number
  readonly unit: string
  readonly limit: number
  readonly direction: '<=' | '>='
}

export type BenchmarkResult = {
  /** Figures by name; their unit is the last word of the name. */
  readonly figures: Readonly<Record<string, number>>
  readonly bars: readonly Bar[]
  /** Every sample that the figures were made from. */
  readonly samples: Readonly<Record<string, readonly number[]>>
  /** `always`, or `none` where no bus took part. */
  readonly syncInterval: string
  readonly versions: Readonly<Record<string, string>>
}

export type BenchmarkOptions = {
  /** Fewer rounds and sizes: to see that it works, not to quote. */
  readonly short: boolean
  readonly print: (line: string) => void
  /** Aborted by Ctrl-C: the bench gives up, and takes down all that it made first. */
  readonly signal: AbortSignal
}

export type Benchmark = {
  readonly name: string
  /** One line for `--list`. */
  readonly about: string
  run(options: BenchmarkOptions): Promise<BenchmarkResult>
}

export const holds = ({ value, limit, direction }: Bar): boolean =>
  direction === '<=' ? value <= limit : value >= limit
