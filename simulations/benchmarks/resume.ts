import type { Bar, Benchmark, BenchmarkOptions, BenchmarkResult } from './benchmark.ts'
import type { Ballast, BenchStack } from './bench-stack.ts'
import { settle, startBenchStack } from './bench-stack.ts'
import { medianPhases, phaseLine } from './phases.ts'
import { median, ratioOfMedians, round1 } from './statistics.ts'

const SIZES: readonly (Ballast & { readonly name: string; readonly inShort: boolean })[] = [
  { name: '0', mib: 0, fill: 'random', inShort: true },
  { name: '200', mib: 200, fill: 'random', inShort: true },
  { name: 'zeros200', mib: 200, fill: 'zero', inShort: true },
  { name: '50', mib: 50, fill: 'random', inShort: false },
  { name: '500', mib: 500, fill: 'random', inShort: false },
  { name: 'half500', mib: 500, fill: 'half', inShort: false },
  { name: 'zeros500', mib: 500, fill: 'zero', inShort: false },
  { name: '1000', mib: 1000, fill: 'random', inShort: false },
]
const ROUNDS = { short: 5, long: 12 }
const STORE_ROUNDS = { short: 3, long: 5 }
const RATIO_MAX = 1.1
const ZEROS_RATIO_MAX = 1.2

/** Request to a suspended actor through the router until its reply, beside restoring the same image without Torpor. */
export const resumeBenchmark: Benchmark = {
  name: 'resume',
  about:
    'request-to-reply of a suspended actor ÷ bare restore, by memory held, from the node and from the store',
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
  readonly name: string
  readonly node: number[]
  readonly bare: number[]
  readonly store: number[]
}

async function measureSizes(stack: BenchStack, { short, print }: BenchmarkOptions): Promise<BenchmarkResult> {
  const rows: Row[] = []
  print('memory held      node ms  bare ms  ratio   store ms')
  for (const size of SIZES.filter(({ inShort }) => inShort || !short)) {
    const row = await measureSize(stack, size, short)
    rows.push(row)
    const ratio = ratioOfMedians(row.node, row.bare).toFixed(3)
    const cells = [median(row.node), median(row.bare)].map((ms) => String(round1(ms)).padStart(8))
    print(
      `${size.name.padEnd(16)}${cells.join(' ')}  ${ratio}  ${String(round1(median(row.store))).padStart(8)}`,
    )
    const phases = medianPhases(stack.eventsOf(actorName(size.name, 'node')), 'ActorResumed')
    print(`  ${phaseLine(median(row.node), median(row.bare), phases)}`)
  }
  return {
    figures: figuresOf(rows),
    bars: barsOf(rows),
    samples: Object.fromEntries(
      rows.flatMap(({ name, node, bare, store }) => [
        [`node${name}Ms`, node],
        [`bare${name}Ms`, bare],
        [`store${name}Ms`, store],
      ]),
    ),
    syncInterval: 'always',
    versions: stack.versions,
  }
}

const actorName = (size: string, where: 'node' | 'store'): string => `m${size}-${where}`

async function measureSize(
  stack: BenchStack,
  size: Ballast & { name: string },
  short: boolean,
): Promise<Row> {
  const row: Row = { name: size.name, node: [], bare: [], store: [] }
  const actor = await stack.makeActor(actorName(size.name, 'node'), size, '1h')
  const bare = await stack.makeBare(`b${size.name}`.slice(0, 8), size)
  const rounds = short ? ROUNDS.short : ROUNDS.long
  for (let round = 0; round < rounds; round += 1) {
    await actor.actor.suspend({ mode: 'async' })
    await settle()
    row.node.push(await actor.call())
    row.bare.push(await bare.wake())
    await bare.checkpoint()
  }
  await actor.actor.suspend({ mode: 'async' })
  const stored = await stack.makeActor(actorName(size.name, 'store'), size, '0s')
  for (let round = 0; round < (short ? STORE_ROUNDS.short : STORE_ROUNDS.long); round += 1) {
    await stored.actor.suspend({ mode: 'sync' })
    await stack.until(stored, 'the copy on the node to go', ({ snapshots }) =>
      snapshots.every(({ locality }) => locality === ''),
    )
    await settle()
    row.store.push(await stored.call())
  }
  await stored.actor.suspend({ mode: 'sync' })
  return row
}

const figuresOf = (rows: readonly Row[]): Readonly<Record<string, number>> =>
  Object.fromEntries(
    rows.flatMap(({ name, node, bare, store }) => [
      [`node${name}Ms`, round1(median(node))],
      [`bare${name}Ms`, round1(median(bare))],
      [`store${name}Ms`, round1(median(store))],
    ]),
  )

function barsOf(rows: readonly Row[]): readonly Bar[] {
  const ratios = rows.map(({ name, node, bare }) => ({
    name: `ratio${name}`,
    value: ratioOfMedians(node, bare),
    unit: 'ratio',
    limit: RATIO_MAX,
    direction: '<=' as const,
  }))
  const zeros = rows.find(({ name }) => name === 'zeros500')
  const empty = rows.find(({ name }) => name === '0')
  if (zeros === undefined || empty === undefined) return ratios
  const value = ratioOfMedians(zeros.node, empty.node)
  return [...ratios, { name: 'zeros500', value, unit: 'ratio', limit: ZEROS_RATIO_MAX, direction: '<=' }]
}
