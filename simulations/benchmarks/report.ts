import type { BenchmarkResult } from './benchmark.ts'
import { holds } from './benchmark.ts'

export type ReportFrame = {
  readonly bench: string
  readonly machine: string
  /** Where every sample is kept. */
  readonly samplesFile: string
}

/** The last line that a bench prints: JSON, for whoever compares runs. A median of no samples is `null`. */
export function reportLine({ bench, machine, samplesFile }: ReportFrame, result: BenchmarkResult): string {
  const { versions, syncInterval, figures } = result
  const bars = result.bars.map((bar) => ({ ...bar, holds: holds(bar) }))
  return JSON.stringify({ bench, machine, versions, syncInterval, figures, bars, samplesFile })
}
