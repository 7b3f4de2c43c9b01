import type { Bar, Benchmark, BenchmarkOptions, BenchmarkResult } from './benchmark.ts'
import type { BenchStack } from './bench-stack.ts'
import { settle, startBenchStack } from './bench-stack.ts'
import { medianPhases, phaseLine } from './phases.ts'
import { median, ratioOfMedians, round1 } from './statistics.ts'

const SIZES_MIB = [0, 200]
const ROUNDS = { short: 5, long: 12 }
const SYNC_ROUNDS = { short: 2, long: 5 }
const RATIO_MAX = 1.15

/** SuspendActor until it returns, beside a checkpoint of the same image without Torpor. */
export const suspendBenchmark: Benchmark = {
  name: 'suspend',
  about: 'asynchronous suspend ÷ bare checkpoint; synchronous printed',
  async run(options) {
    const stack = await startBenchStack(options.print)
    try {
      return await measureSizes(stack, options)
    } finally {
      await stack.end()
    }
  },
}

type Row = {
  readonly mib: number
  readonly async: number[]
  readonly bare: number[]
  readonly sync: number[]
}

async function measureSizes(stack: BenchStack, { short, print }: BenchmarkOptions): Promise<BenchmarkResult> {
  const rows: Row[] = []
  print('memory held     async ms  bare ms  ratio    sync ms')
  for (const mib of SIZES_MIB) {
    const row = await measureSize(stack, mib, short)
    rows.push(row)
    const ratio = ratioOfMedians(row.async, row.bare).toFixed(3)
    const cells = [median(row.async), median(row.bare)].map((ms) => String(round1(ms)).padStart(8))
    print(
      `${String(mib).padEnd(16)}${cells.join(' ')}  ${ratio}  ${String(round1(median(row.sync))).padStart(8)}`,
    )
    const phases = medianPhases(stack.eventsOf(`s${mib}`), 'ActorSuspended')
    print(`  ${phaseLine(median(row.async), median(row.bare), phases)}`)
  }
  return {
    figures: Object.fromEntries(
      rows.flatMap(({ mib, ...samples }) =>
        Object.entries(samples).map(([arm, values]) => [`${arm}${mib}Ms`, round1(median(values))]),
      ),
    ),
    bars: rows.map(({ mib, async, bare }): Bar => ({
      name: `async${mib}`,
      value: ratioOfMedians(async, bare),
      unit: 'ratio',
      limit: RATIO_MAX,
      direction: '<=',
    })),
    samples: Object.fromEntries(
      rows.flatMap(({ mib, ...samples }) =>
        Object.entries(samples).map(([arm, values]) => [`${arm}${mib}Ms`, values]),
      ),
    ),
    syncInterval: 'always',
    versions: stack.versions,
  }
}

async function measureSize(stack: BenchStack, mib: number, short: boolean): Promise<Row> {
  const row: Row = { mib, async: [], bare: [], sync: [] }
  const ballast = { mib, fill: 'random' } as const
  const { actor } = await stack.makeActor(`s${mib}`, ballast, '1h')
  const bare = await stack.makeBare(`c${mib}`, ballast)
  for (let round = 0; round < (short ? ROUNDS.short : ROUNDS.long); round += 1) {
    await settle()
    row.async.push(await timed(() => actor.suspend({ mode: 'async' })))
    await actor.resume()
    await bare.wake()
    await settle()
    row.bare.push(await bare.checkpoint())
  }
  for (let round = 0; round < (short ? SYNC_ROUNDS.short : SYNC_ROUNDS.long); round += 1) {
    await settle()
    row.sync.push(await timed(() => actor.suspend({ mode: 'sync' })))
    await actor.resume()
  }
  await actor.suspend({ mode: 'async' })
  return row
}

async function timed(run: () => Promise<unknown>): Promise<number> {
  const beganMs = performance.now()
  await run()
  return performance.now() - beganMs
}
