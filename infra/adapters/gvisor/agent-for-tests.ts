/**
 * What a node agent does, as a process that a test can kill: opens the driver with the options and the sandbox of its
 * argument, runs it, waits until one more is made ahead, says "ready" and stays.
 */
import { readdir, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import type { SandboxSpec } from '@torpor/contracts'
import { openGvisorRuntime, type GvisorOptions } from './index.ts'

type Work = {
  readonly options: Pick<GvisorOptions, 'runscPath' | 'stateDir' | 'runDir' | 'nodeTag'>
  readonly spec: SandboxSpec
}

const { options, spec } = JSON.parse(process.argv[2] ?? '') as Work
const runtime = await openGvisorRuntime(options)
await runtime.prepare(spec)
await runtime.start(spec.sandboxId)
while (!(await hasSandboxAhead())) await pause(20)
console.log('ready')
setInterval(() => undefined, 60_000)

async function hasSandboxAhead(): Promise<boolean> {
  const slots = join(options.stateDir, 'slots')
  for (const id of await readdir(slots)) {
    const record = await readFile(join(slots, id, 'slot.json'), 'utf8').catch(() => '')
    if (record.includes('"state":"ahead"')) return true
  }
  return false
}
