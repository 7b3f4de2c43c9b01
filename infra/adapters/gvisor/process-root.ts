/** What the process of a node agent must be for gVisor to work, checked at the start with a text that says what to do. */
import { readFile } from 'node:fs/promises'
import { setTimeout as pause } from 'node:timers/promises'
import { fault } from '@torpor/contracts'
import { runCommand } from './run-command.ts'

const REAP_MS_MAX = 10_000
const REAP_POLL_MS = 100

/** Throws SETUP_INCOMPLETE unless this process is root: it makes network namespaces, mounts and control groups. */
export function checkProcessRoot(): void {
  if (process.getuid?.() === 0) return
  throw fault('SETUP_INCOMPLETE', 'gvisor', { detail: 'run the node agent as root' })
}

/**
 * Whether somebody reaps the processes that outlive their parents, as sandboxes do. The driver needs no quick reaper, but
 * where nobody does it (a program as PID 1 of a container) dead sandboxes stay in the process table: use `tini`.
 */
export async function orphansAreReaped(): Promise<boolean> {
  const { stdout } = await runCommand('/bin/sh', ['-c', '(exec sleep 0) >&- & echo $!'], {
    timeoutMs: REAP_MS_MAX,
  })
  const deadline = performance.now() + REAP_MS_MAX
  while (performance.now() < deadline) {
    const there = await readFile(`/proc/${Number(stdout.trim())}/stat`, 'utf8').catch(() => undefined)
    if (there === undefined) return true
    await pause(REAP_POLL_MS, undefined, { ref: false })
  }
  return false
}
