/** Sandboxes on gVisor: the adapter of the port `SandboxRuntime`. */
import { mkdir, rm, rmdir } from 'node:fs/promises'
import { join } from 'node:path'
import { fault, type SandboxRuntime } from '@torpor/contracts'
import { openCgroups } from './cgroups.ts'
import { openImages } from './images.ts'
import { claimNetwork, releaseNetwork } from './network-claim.ts'
import { removeNetworkRules, setNetworkRules } from './network-rules.ts'
import { networkPool } from './network-pool.ts'
import { GVISOR_LIMITS, gvisorOptions, type GivenOptions, type GvisorOptions } from './options.ts'
import { checkProcessRoot, orphansAreReaped } from './process-root.ts'
import { runCommand } from './run-command.ts'
import { openRunsc } from './runsc.ts'
import { gvisorRuntime } from './runtime.ts'
import { slotFolders } from './slot.ts'
import type { Remains } from './sandbox.ts'
import { nodeCgroup, slotMaker } from './slot-maker.ts'

export { clearNode, type NodeOnMachine } from './clear-node.ts'
export { checkProcessRoot } from './process-root.ts'
export { openCgroups, type CgroupLimits, type Cgroups } from './cgroups.ts'
export { GVISOR_LIMITS, type GivenOptions, type GvisorOptions } from './options.ts'
export { nodeCgroup } from './slot-maker.ts'

/**
 * Opens the driver: adopts the sandboxes that an earlier agent left, removes what nobody owns.
 * @param given paths and bounds; see `GvisorOptions`
 * @throws SETUP_INCOMPLETE when the process or the machine cannot run gVisor; CONFIG_INVALID for options out of bounds
 * @example const runtime = await openGvisorRuntime({ runscPath, stateDir, runDir: '/run/torpor/n1', nodeTag: 'n1' })
 */
export async function openGvisorRuntime(given: GivenOptions): Promise<SandboxRuntime> {
  checkOptions(given)
  checkProcessRoot()
  const options = gvisorOptions(given, await claimNetwork(given, given.network))
  const runsc = await openRunsc(options)
  void noteMissingReaper(options)
  await mkdir(join(options.stateDir, 'overlays'), { recursive: true })
  await mkdir(options.runDir, { recursive: true, mode: 0o700 })
  await setNetworkRules(options)
  const cgroups = openCgroups()
  await cgroups.make(nodeCgroup(options))
  const shared = {
    options,
    runsc,
    cgroups,
    networks: networkPool(options),
    folders: slotFolders(options.stateDir),
  }
  const slots = slotMaker(shared)
  const images = openImages(options.stateDir)
  const context = {
    ...shared,
    images,
    slots,
    sandboxes: new Map(),
    remains: new Set<Remains>(),
  }
  const runtime = await gvisorRuntime(context)
  return {
    ...runtime,
    close: async () => {
      await runtime.close()
      if ((await runtime.list()).length > 0) return
      await cgroups.remove(nodeCgroup(options))
      await removeNetworkRules(options)
      await releaseNetwork(options, options.network)
      await removeRunDir(options.runDir)
    },
  }
}

function checkOptions({ nodeTag, runDir, network }: GivenOptions): void {
  const tags = new RegExp(`^[a-z0-9]{1,${GVISOR_LIMITS.tagLengthMax}}$`)
  if (!tags.test(nodeTag)) throw fault('CONFIG_INVALID', `nodeTag ${nodeTag}`)
  if (runDir.length > GVISOR_LIMITS.runDirLengthMax)
    throw fault('CONFIG_INVALID', `runDir ${runDir}`, { detail: 'too long' })
  if (network !== undefined && !/^\d{1,3}\.\d{1,3}$/.test(network))
    throw fault('CONFIG_INVALID', `network ${network}`)
}

/** runsc keeps the empty network namespace of its file servers as a mount in its folder. */
async function removeRunDir(runDir: string): Promise<void> {
  const mount = join(runDir, 'null-netns')
  await runCommand('umount', [mount], { timeoutMs: 5_000 })
  await rm(mount, { force: true }).catch(() => undefined)
  await rmdir(runDir).catch(() => undefined)
}

async function noteMissingReaper({ onNote }: GvisorOptions): Promise<void> {
  if (await orphansAreReaped()) return
  onNote('nobody reaps dead sandboxes on this machine: run the node agent under tini')
}
