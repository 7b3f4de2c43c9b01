import { setTimeout as pause } from 'node:timers/promises'
import type { SandboxExit } from '@torpor/contracts'
import type { Cgroups } from './cgroups.ts'
import { exitCodeOf, waitForProcessEnd, type ProcessEnd } from './control-socket.ts'
import { GVISOR_LIMITS } from './options.ts'
import type { SlotRecord } from './slot.ts'

/** 128 + SIGKILL. */
const KILLED_EXIT_CODE = 137

/** How the sandbox of a slot ends, as soon as it does; never settles once `signal` aborts. */
export async function watchExit(
  root: string,
  cgroups: Cgroups,
  { id, cgroup }: SlotRecord,
  signal: AbortSignal,
): Promise<SandboxExit> {
  const end = await surely(root, cgroups, cgroup, id, signal)
  const exitCode = end.kind === 'exited' ? exitCodeOf(end.waitStatus) : undefined
  return exitOf(exitCode, await cgroups.memoryKills(cgroup))
}

/** A connection may be refused for other reasons than death: then processes of it are left, and it is asked again. */
async function surely(
  root: string,
  cgroups: Cgroups,
  cgroup: string,
  id: string,
  signal: AbortSignal,
): Promise<ProcessEnd> {
  for (let attempt = 1; ; attempt++) {
    const end = await waitForProcessEnd(root, id, signal)
    if (end.kind === 'exited' || attempt === GVISOR_LIMITS.waitAttemptsMax) return end
    if ((await cgroups.members(cgroup)).length === 0) return end
    await pause(GVISOR_LIMITS.waitRetryMs)
  }
}

/** The reason, from what the process said last and from what the kernel counted. */
export function exitOf(exitCode: number | undefined, memoryKills: number): SandboxExit {
  const code = exitCode === undefined ? {} : { exitCode }
  if (memoryKills > 0 && exitCode !== 0) {
    return { reason: 'memory', ...code, message: 'killed for want of memory: its limit is reached' }
  }
  if (exitCode === undefined) return { reason: 'killed', message: 'its sandbox was killed' }
  // whoever kills a whole sandbox may hit its process first, and the sandbox still tells of that
  if (exitCode === KILLED_EXIT_CODE) return { reason: 'killed', exitCode, message: 'its process was killed' }
  return { reason: 'exited', exitCode, message: `its process ended with exit code ${exitCode}` }
}
