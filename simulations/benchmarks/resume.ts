import type { Bar } from './benchmark.ts'
import type { Ballast, BenchStack } from './bench-stack.ts'
import type { SizeRow } from './size-benchmark.ts'
import { ratioBar, sizeBenchmark } from './size-benchmark.ts'

type Size = Ballast & { readonly name: string; readonly inShort: boolean }

const SIZES: readonly Size[] = [
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

const actorName = (size: string, where: 'node' | 'store'): string => `m${size}-${where}`

/** Request to a suspended actor through the router until its reply, beside restoring the same image without Torpor. */
export const resumeBenchmark = sizeBenchmark({
  name: 'resume',
  about:
    'request-to-reply of a suspended actor ÷ bare restore, by memory held, from the node and from the store',
  arms: { torpor: 'node', printed: 'store' },
  sizes: (short) => SIZES.filter(({ inShort }) => inShort || !short),
  async measure(stack, size, short, row) {
    await wakeFromNode(stack, size, short ? ROUNDS.short : ROUNDS.long, row)
    await wakeFromStore(stack, size, short ? STORE_ROUNDS.short : STORE_ROUNDS.long, row)
  },
  phasesOf: { type: 'ActorResumed', actorName: (size) => actorName(size, 'node') },
  bars: barsOf,
})

async function wakeFromNode(stack: BenchStack, size: Size, rounds: number, row: SizeRow): Promise<void> {
  const kept = await stack.makeActor(actorName(size.name, 'node'), size, '1h')
  const bare = await stack.makeBare(`b${size.name}`.slice(0, 8), size)
  for (let round = 0; round < rounds; round += 1) {
    await kept.actor.suspend({ mode: 'async' })
    await stack.settle(size)
    row.torpor.push(await kept.call())
    await bare.checkpoint()
    await stack.settle(size)
    row.bare.push(await bare.wake())
  }
  await kept.actor.suspend({ mode: 'async' })
}

async function wakeFromStore(stack: BenchStack, size: Size, rounds: number, row: SizeRow): Promise<void> {
  const stored = await stack.makeActor(actorName(size.name, 'store'), size, '0s')
  for (let round = 0; round < rounds; round += 1) {
    await stored.actor.suspend({ mode: 'sync' })
    await stack.until(stored, 'the copy on the node to go', ({ snapshots }) =>
      snapshots.every(({ locality }) => locality === ''),
    )
    await stack.settle(size)
    row.printed.push(await stored.call())
  }
  await stored.actor.suspend({ mode: 'sync' })
}

function barsOf(rows: readonly SizeRow[]): readonly Bar[] {
  const ratios = rows.map(({ name, torpor, bare }) => ratioBar(`ratio${name}`, torpor, bare, RATIO_MAX))
  const zeros = rows.find(({ name }) => name === 'zeros500')
  const empty = rows.find(({ name }) => name === '0')
  if (zeros === undefined || empty === undefined) return ratios
  return [...ratios, ratioBar('zeros500', zeros.torpor, empty.torpor, ZEROS_RATIO_MAX)]
}
