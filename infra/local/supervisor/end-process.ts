import { isAlive, type ProcessIdentity } from './process-identity.ts'
import { SUPERVISOR_LIMITS } from './limits.ts'
import { waitUntil } from './wait-until.ts'

/** Sends a signal to exactly this process (or the group it leads); one that is gone already is no error. */
export function signalProcess(identity: ProcessIdentity, signal: NodeJS.Signals, wholeGroup = false): void {
  if (!isAlive(identity)) return
  try {
    process.kill(wholeGroup ? -identity.pid : identity.pid, signal)
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ESRCH') throw error
  }
}

/**
 * Ends a process that is not our child: asks, waits, then kills.
 * @returns whether it is gone
 */
export async function endProcess(
  identity: ProcessIdentity,
  stopMsMax: number = SUPERVISOR_LIMITS.orphanEndMsMax,
): Promise<boolean> {
  signalProcess(identity, 'SIGTERM')
  if (await waitUntil(() => !isAlive(identity), stopMsMax)) return true
  signalProcess(identity, 'SIGKILL')
  return waitUntil(() => !isAlive(identity), SUPERVISOR_LIMITS.partKillMsMax)
}
