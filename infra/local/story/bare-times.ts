import { execFileSync } from 'node:child_process'
import { rm } from 'node:fs/promises'
import { join } from 'node:path'
import { startBareSandbox } from '../../../simulations/benchmarks/bare/bare-sandbox.ts'
import { localNode } from '../supervisor/clear-machine.ts'
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

/** How names of the bare sandbox's namespaces and interfaces begin: another demo on this machine has others. */
export const bareTag = (dataFolder: string): string => `tb${localNode(dataFolder).tag}-`
/** A part of 10.0.0.0/8 that the node of no local stack takes. */
const bareNetwork = (dataFolder: string): string =>
  `10.${64 + (Number.parseInt(localNode(dataFolder).tag.slice(0, 2), 16) % 64)}`

/** Runs the sandbox without Torpor: checkpointed once as a golden one, restored for a first call, checkpointed, restored. */
export async function measureBare({ dataFolder, signal }: Stage, image: string): Promise<BareTimes> {
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
    tag: bareTag(dataFolder),
    network: bareNetwork(dataFolder),
  })
  try {
    await bare.start()
    await bare.checkpoint()
    signal.throwIfAborted()
    const firstCallMs = await bare.wake()
    const callMs = await bare.call()
    const checkpointMs = await bare.checkpoint()
    return { firstCallMs, callMs, checkpointMs, restoreMs: await bare.wake() }
  } finally {
    await bare.end()
    await rm(rootfs, { recursive: true, force: true })
  }
}
