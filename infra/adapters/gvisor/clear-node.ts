/**
 * Takes everything of a node off this machine, whatever state its agent left it in: for whoever removes or ends a node.
 * It needs neither records nor `runsc`: all that belongs to a node carries its tag, its folders or its control groups.
 */
import { readFileSync, readdirSync } from 'node:fs'
import { readFile, rm, rmdir } from 'node:fs/promises'
import { dirname } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { fault } from '@torpor/contracts'
import { killOne, openCgroups, type Cgroups } from './cgroups.ts'
import { releaseClaims } from './network-claim.ts'
import { removeNamespaces } from './network-pool.ts'
import { removeNetworkRules } from './network-rules.ts'
import { GVISOR_LIMITS, type GvisorOptions } from './options.ts'
import { runCommand } from './run-command.ts'
import { nodeCgroup } from './slot-maker.ts'

export type NodeOnMachine = Pick<GvisorOptions, 'nodeTag' | 'stateDir' | 'runDir'> & {
  /** The control group of the node's workers. */
  readonly workersCgroup: string
}

/**
 * Ends every sandbox of a node whose agent has ended, and removes its control groups, networks, rules and mounts. What lies
 * in its folders stays: an agent that starts there again finds its sandboxes ended. Nothing to remove is no error.
 */
export async function clearNode(node: NodeOnMachine): Promise<void> {
  const cgroups = openCgroups()
  const groups = [node.workersCgroup, nodeCgroup(node)]
  // one may lie below the other
  for (const group of groups) await cgroups.thaw(group)
  for (const group of groups) await clearCgroup(cgroups, group)
  await killThoseOf(node.runDir)
  await removeNamespaces(node.nodeTag)
  await removeNetworkRules(node)
  await releaseClaims(node)
  await unmountBelow([node.stateDir, node.runDir])
  await rm(node.runDir, { recursive: true, force: true })
  await rmdir(dirname(node.runDir)).catch(() => undefined)
}

/** A group that a guard held still is thawed from the top: what is frozen does not die. */
async function clearCgroup(cgroups: Cgroups, group: string): Promise<void> {
  await cgroups.thaw(group)
  for (const child of await cgroups.children(group)) await clearCgroup(cgroups, `${group}/${child}`)
  await cgroups.kill(group)
  await cgroups.remove(group)
}

/** A sandbox that was being made when its agent died may be in no control group yet; its command line names the folder. */
async function killThoseOf(runDir: string): Promise<void> {
  const deadline = performance.now() + GVISOR_LIMITS.endTimeoutMs
  for (let left = processesOf(runDir); left.length > 0; left = processesOf(runDir)) {
    if (performance.now() > deadline)
      throw fault('INTERNAL', runDir, { detail: `processes ${left.join(', ')} do not end` })
    for (const pid of left) killOne(pid)
    await pause(GVISOR_LIMITS.endPollMs)
  }
}

const processesOf = (runDir: string): readonly number[] =>
  readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name))
    .filter((pid) => commandLine(pid).some((word) => word === runDir || word === `--root=${runDir}`))
    .map(Number)

function commandLine(pid: string): readonly string[] {
  try {
    return readFileSync(`/proc/${pid}/cmdline`, 'utf8').split('\0')
  } catch {
    return []
  }
}

/** The deepest first. */
async function unmountBelow(folders: readonly string[]): Promise<void> {
  const mounts = (await readFile('/proc/self/mounts', 'utf8'))
    .split('\n')
    .map((line) => (line.split(' ')[1] ?? '').replaceAll('\\040', ' '))
    .filter((mount) => folders.some((folder) => mount.startsWith(`${folder}/`)))
  for (const mount of mounts.toReversed())
    await runCommand('umount', ['-l', mount], { timeoutMs: GVISOR_LIMITS.ipTimeoutMs })
}
