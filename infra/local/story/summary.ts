import { ALL } from '@torpor/contracts'
import type { BareTimes } from './bare-times.ts'
import type { Stage } from './stage.ts'
import { ms } from './tell.ts'

const ROWS = [
  ['first call', 'firstCallMs'],
  ['call to a running actor', 'callMs'],
  ['async suspend', 'checkpointMs'],
  ['sync suspend', 'checkpointMs'],
  ['wake from the node', 'restoreMs'],
  ['wake from the object store', 'restoreMs'],
] as const

/** The table at the end: each time beside that of the sandbox alone, for the same image in the same run. */
export function measuredTable({ tell, measuredMs }: Stage, bare: BareTimes | undefined): void {
  const rows = ROWS.map(([row, bareName]) => {
    const measured = measuredMs.get(row) ?? 0
    const alone = bare?.[bareName]
    return [
      row,
      ms(measured),
      alone === undefined ? '–' : ms(alone),
      alone === undefined ? '–' : (measured / alone).toFixed(2),
    ]
  })
  tell.line(
    bare === undefined
      ? 'What it took (simulated sandboxes: no bare times)'
      : 'What it took, beside the sandbox alone',
  )
  tell.table(['', 'torpor', 'bare', 'ratio'], rows)
}

/** Step 6: what to try, and where the data lies. */
export function nextThings({ tell, stack, host, options }: Stage): void {
  const bin = 'npx torpor'
  tell.step(6, options.once ? 'What you could try while it is up' : 'What to try next')
  tell.line(`curl -H 'Host: ${host}' ${stack.routerUrl}/`)
  tell.line(`${bin} get actors -A`)
  tell.line(`${bin} history actor my-counter-1 -a demo`)
  tell.line(`${bin} suspend actor my-counter-1 -a demo --mode sync`)
  tell.line(`${bin} watch`)
  tell.line(`nats sub -s ${stack.natsUrl} '${ALL.events}'   # with the NATS CLI`)
  tell.line(`data: ${stack.dataFolder} (npm run demo -- --remove removes it)`)
}
