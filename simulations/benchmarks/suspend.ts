import { ratioBar, sizeBenchmark } from './size-benchmark.ts'

const SIZES = [0, 200].map((mib) => ({ name: String(mib), mib, fill: 'random' as const }))
const ROUNDS = { short: 5, long: 12 }
const SYNC_ROUNDS = { short: 2, long: 5 }
const RATIO_MAX = 1.15

const actorName = (size: string): string => `s${size}`

/** SuspendActor until it returns, beside a checkpoint of the same image without Torpor. */
export const suspendBenchmark = sizeBenchmark({
  name: 'suspend',
  about: 'asynchronous suspend ÷ bare checkpoint; synchronous printed',
  arms: { torpor: 'async', printed: 'sync' },
  sizes: () => SIZES,
  async measure(stack, size, short, row) {
    const { actor } = await stack.makeActor(actorName(size.name), size, '1h')
    const bare = await stack.makeBare(`c${size.name}`, size)
    for (let round = 0; round < (short ? ROUNDS.short : ROUNDS.long); round += 1) {
      await stack.settle(size)
      row.torpor.push(await timed(() => actor.suspend({ mode: 'async' })))
      await actor.resume()
      await stack.settle(size)
      row.bare.push(await bare.checkpoint())
      await bare.wake()
    }
    for (let round = 0; round < (short ? SYNC_ROUNDS.short : SYNC_ROUNDS.long); round += 1) {
      await stack.settle(size)
      row.printed.push(await timed(() => actor.suspend({ mode: 'sync' })))
      await actor.resume()
    }
    await actor.suspend({ mode: 'async' })
  },
  phasesOf: { type: 'ActorSuspended', actorName },
  bars: (rows) => rows.map(({ name, torpor, bare }) => ratioBar(`async${name}`, torpor, bare, RATIO_MAX)),
})

async function timed(run: () => Promise<unknown>): Promise<number> {
  const beganMs = performance.now()
  await run()
  return performance.now() - beganMs
}
