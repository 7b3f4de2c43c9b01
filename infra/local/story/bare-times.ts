import { execFileSync } from 'node:child_process'
import { rm } from 'node:fs/promises'
import { join } from 'node:path'
import { startBareSandbox } from '../../../simulations/benchmarks/bare/bare-sandbox.ts'
import { requireTool } from '../supervisor/tool-paths.ts'
import { COUNTER_PORT } from './demo-documents.ts'
import type { Stage } from './stage.ts'

/** What the sandbox alone takes on this machine, in this run, for the same image. */
export type BareTimes = {
  readonly firstCallMs: number
  readonly callMs: number
  readonly checkpointMs: number
  readonly restoreMs: number
}

/** Runs the sandbox without Torpor: checkpointed once as a golden one, restored for a first call, checkpointed, restored. */
export async function measureBare({ dataFolder }: Stage, image: string): Promise<BareTimes> {
  const folder = join(dataFolder, 'bare')
  await rm(folder, { recursive: true, force: true })
  const rootfs = join(dataFolder, 'bare-rootfs')
  await rm(rootfs, { recursive: true, force: true })
  execFileSync(requireTool('umoci'), ['raw', 'unpack', '--image', image.replace(/^oci:/, ''), rootfs], {
    stdio: 'ignore',
  })
  const bare = startBareSandbox({
    runsc: requireTool('runsc'),
    folder,
    rootfs,
    args: ['/bin/node', '/app/counter.js'],
    env: ['PATH=/bin', `PORT=${COUNTER_PORT}`],
    port: COUNTER_PORT,
    memoryMib: 256,
    tag: 'tpbare',
    network: '10.214',
  })
  try {
    await bare.start()
    await bare.checkpoint()
    const firstCallMs = await bare.wake()
    const callMs = await bare.call()
    const checkpointMs = await bare.checkpoint()
    return { firstCallMs, callMs, checkpointMs, restoreMs: await bare.wake() }
  } finally {
    await bare.end()
    await rm(rootfs, { recursive: true, force: true })
  }
}
