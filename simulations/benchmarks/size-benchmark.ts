import type { CloudEvent } from '@torpor/contracts'
import type { Bar, Benchmark, BenchmarkOptions, BenchmarkResult } from './benchmark.ts'
import type { BenchStack } from './bench-stack.ts'
import { startBenchStack } from './bench-stack.ts'
import { medianPhases, phaseLine } from './phases.ts'
import { median, ratioOfMedians, round1 } from './statistics.ts'

/** What was measured at one size of memory, in milliseconds. */
export type SizeRow = {
  /** Of the size: part of the names of figures, bars and samples. */
  readonly name: string
  /** What Torpor took, and the sandbox alone beside it, in turns. */
  readonly torpor: number[]
  readonly bare: number[]
  /** What has no counterpart without Torpor: printed, and held to no bar. */
  readonly printed: number[]
}

/** A bench that does the same at several sizes of memory, on a whole stack with the sandbox alone beside it. */
export type SizeBenchmark<Size extends { readonly name: string }> = {
  readonly name: string
  readonly about: string
  /** Names of what {@link SizeRow} calls torpor and printed. */
  readonly arms: { readonly torpor: string; readonly printed: string }
  sizes(short: boolean): readonly Size[]
  /** Fills the row. */
  measure(stack: BenchStack, size: Size, short: boolean, row: SizeRow): Promise<void>
  /** Of this actor's events of this type the phases of the node are told. */
  readonly phasesOf: {
    readonly type: Parameters<typeof medianPhases>[1]
    actorName(size: string): string
  }
  bars(rows: readonly SizeRow[]): readonly Bar[]
}

export const sizeBenchmark = <Size extends { readonly name: string }>(
  bench: SizeBenchmark<Size>,
): Benchmark => ({
  name: bench.name,
  about: bench.about,
  async run(options) {
    const stack = await startBenchStack(options)
    try {
      return await measureSizes(bench, stack, options)
    } finally {
      await stack.end()
    }
  },
})

async function measureSizes<Size extends { readonly name: string }>(
  bench: SizeBenchmark<Size>,
  stack: BenchStack,
  { short, print }: BenchmarkOptions,
): Promise<BenchmarkResult> {
  const { arms, phasesOf } = bench
  const rows: SizeRow[] = []
  print(tableLine('memory held', `${arms.torpor} ms`, 'bare ms', 'ratio', `${arms.printed} ms`))
  for (const size of bench.sizes(short)) {
    const row: SizeRow = { name: size.name, torpor: [], bare: [], printed: [] }
    await bench.measure(stack, size, short, row)
    rows.push(row)
    for (const line of rowLines(row, stack.eventsOf(phasesOf.actorName(size.name)), phasesOf.type))
      print(line)
  }
  const samples = rows.flatMap(({ name, torpor, bare, printed }): [string, readonly number[]][] => [
    [`${arms.torpor}${name}Ms`, torpor],
    [`bare${name}Ms`, bare],
    [`${arms.printed}${name}Ms`, printed],
  ])
  return {
    figures: Object.fromEntries(samples.map(([name, values]) => [name, round1(median(values))])),
    bars: bench.bars(rows),
    samples: Object.fromEntries(samples),
    syncInterval: 'always',
    versions: stack.versions,
  }
}

function rowLines(
  { name, torpor, bare, printed }: SizeRow,
  events: readonly CloudEvent[],
  type: Parameters<typeof medianPhases>[1],
): readonly string[] {
  const [torporMs, bareMs, printedMs] = [median(torpor), median(bare), median(printed)]
  const cells = [torporMs, bareMs, printedMs].map((ms) => String(round1(ms)))
  const [first = '', second = '', third = ''] = cells
  return [
    tableLine(name, first, second, ratioOfMedians(torpor, bare).toFixed(3), third),
    `  ${phaseLine(torporMs, bareMs, medianPhases(events, type))}`,
  ]
}

const tableLine = (name: string, torpor: string, bare: string, ratio: string, printed: string): string =>
  `${name.padEnd(16)}${torpor.padStart(8)} ${bare.padStart(8)}  ${ratio}  ${printed.padStart(8)}`

/** A ratio of medians that must not be above the limit. */
export const ratioBar = (
  name: string,
  samples: readonly number[],
  others: readonly number[],
  limit: number,
): Bar => ({ name, value: ratioOfMedians(samples, others), unit: 'ratio', limit, direction: '<=' })
