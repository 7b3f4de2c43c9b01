import type { SandboxExit } from '@torpor/contracts'
import type { Cgroups } from './cgroups.ts'
import { exitCodeOf, waitForProcessEnd } from './control-socket.ts'
import type { SlotRecord } from './slot.ts'

/** How the sandbox of a slot ends, as soon as it does; never settles once `signal` aborts. */
export async function watchExit(
  root: string,
  cgroups: Cgroups,
  { id, cgroup }: SlotRecord,
  signal: AbortSignal,
): Promise<SandboxExit> {
  const end = await waitForProcessEnd(root, id, signal)
  const exitCode = end.kind === 'exited' ? exitCodeOf(end.waitStatus) : undefined
  return exitOf(exitCode, await cgroups.memoryKills(cgroup))
}

/** The reason, from what the process said last and from what the kernel counted. */
export function exitOf(exitCode: number | undefined, memoryKills: number): SandboxExit {
  const code = exitCode === undefined ? {} : { exitCode }
  if (memoryKills > 0 && exitCode !== 0) {
    return { reason: 'memory', ...code, message: 'killed for want of memory: its limit is reached' }
  }
  if (exitCode === undefined) return { reason: 'killed', message: 'its sandbox was killed' }
  return { reason: 'exited', exitCode, message: `its process ended with exit code ${exitCode}` }
}
