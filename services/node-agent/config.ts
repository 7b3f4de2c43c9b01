import { createHash } from 'node:crypto'
import { availableParallelism, totalmem } from 'node:os'
import { join, resolve } from 'node:path'
import { fault, isDnsLabel } from '@torpor/contracts'
import type { Settings } from '@torpor/contracts'

/** What agent and guard of one node take from their settings. */
export type NodeConfig = {
  readonly name: string
  readonly dataDir: string
  readonly cpuMilli: number
  readonly memoryMib: number
  /** Six characters that tell this node's things on the machine from those of another node, or of another system. */
  readonly tag: string
  /** The cgroup that holds every sandbox of the node; the guard freezes it as one. */
  readonly cgroup: string
  readonly gvisor: {
    readonly runscPath: string
    readonly stateDir: string
    readonly runDir: string
    readonly nodeTag: string
  }
}

const MIB = 2 ** 20

/** Checks the settings of a node. Fault CONFIG_INVALID names the one that is missing or wrong. */
export function nodeConfig(settings: Settings): NodeConfig {
  const { TORPOR_NAME: name } = settings
  if (!isDnsLabel(name)) throw fault('CONFIG_INVALID', 'TORPOR_NAME', { detail: 'must be a DNS label' })
  if (settings.TORPOR_DATA_DIR === '')
    throw fault('CONFIG_INVALID', 'TORPOR_DATA_DIR', { detail: 'a folder is needed' })
  const dataDir = resolve(settings.TORPOR_DATA_DIR)
  const hash = createHash('sha256').update(`${name} ${dataDir}`).digest()
  const tag = hash.toString('hex').slice(0, 6)
  return {
    name,
    dataDir,
    cpuMilli: settings.TORPOR_NODE_CPU_MILLI || availableParallelism() * 1000,
    memoryMib: settings.TORPOR_NODE_MEMORY_MIB || Math.floor(totalmem() / MIB),
    tag,
    cgroup: `/torpor/${name}-${tag}`,
    gvisor: {
      runscPath: settings.TORPOR_RUNSC,
      stateDir: join(dataDir, 'gvisor'),
      runDir: `/run/torpor/${tag}`,
      nodeTag: tag,
    },
  }
}
