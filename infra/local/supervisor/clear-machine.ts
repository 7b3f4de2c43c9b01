import path from 'node:path'
import { clearNode } from '@torpor/adapter-gvisor'
import { readSettings } from '@torpor/contracts'
import { nodeConfig } from '@torpor/node-agent'

/** Name of the one node of a local stack. */
export const LOCAL_NODE = 'node-1'

/** Where the node of a local stack keeps its things: a folder, and on the machine all that carries its tag. */
export const localNode = (dataFolder: string) =>
  nodeConfig(readSettings({ TORPOR_NAME: LOCAL_NODE, TORPOR_DATA_DIR: path.join(dataFolder, 'node') }))

/**
 * Ends the sandboxes of this data folder and takes off the machine what carries its tag. Its agent must have ended.
 * Where sandboxes cannot run (no Linux, no root) there are none.
 */
export async function clearMachine(dataFolder: string): Promise<void> {
  if (process.platform !== 'linux' || process.getuid?.() !== 0) return
  const { gvisor, cgroup } = localNode(dataFolder)
  await clearNode({ ...gvisor, workersCgroup: cgroup })
}
