import { isAlive, identifyProcess } from './process-identity.ts'
import { hasProcessRoot } from './process-root.ts'

/** Set by whoever starts a process that is to end when it does: its process id. */
const STARTED_BY = 'TORPOR_STARTED_BY'
const LOOK_MS = 500

/**
 * Ends this process, as a polite kill does, when the program that started it or the reaper above it is gone: they would have
 * passed a Ctrl-C on, and nobody else would. A SIGKILL to them tells nobody, so this looks. Call it after
 * `enterProcessRoot`.
 */
export function endWithStarter(): void {
  const startedBy = Number(process.env[STARTED_BY] ?? 0)
  const pids = [...(startedBy > 0 ? [startedBy] : []), ...(hasProcessRoot() ? [process.ppid] : [])]
  const starters = pids.map((pid) => identifyProcess(pid))
  const timer = setInterval(() => {
    if (starters.every((starter) => starter !== undefined && isAlive(starter))) return
    clearInterval(timer)
    process.kill(process.pid, 'SIGTERM')
  }, LOOK_MS)
  timer.unref()
}
