/** What the process of a node agent must be for gVisor to work, checked at the start with a text that says what to do. */
import { readFile } from 'node:fs/promises'
import { setTimeout as pause } from 'node:timers/promises'
import { fault } from '@torpor/contracts'
import { runCommand } from './run-command.ts'

const REAP_MS_MAX = 10_000
const REAP_POLL_MS = 100

/**
 * Throws SETUP_INCOMPLETE unless this process is root and, for a runsc from before 2025, sees no
 * `/proc/sys/net/core/rmem_default`: such a build takes every network namespace of kernel 6.13 and later for the root one.
 */
export async function checkProcessRoot(runscVersion: string): Promise<void> {
  if (process.getuid?.() !== 0)
    throw fault('SETUP_INCOMPLETE', 'gvisor', { detail: 'run the node agent as root' })
  if (!(await mistakesNamespaces(runscVersion))) return
  throw fault('SETUP_INCOMPLETE', 'gvisor', {
    detail:
      'this runsc needs: unshare -m --propagation unchanged sh -c "mount -t tmpfs tmpfs /proc/sys/net && exec node …"',
  })
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

async function mistakesNamespaces(runscVersion: string): Promise<boolean> {
  const date = /(20\d{6})/.exec(runscVersion)?.[1]
  if (date === undefined || date >= '20250101') return false
  const probe = ['-n', 'test', '-e', '/proc/sys/net/core/rmem_default']
  return (await runCommand('unshare', probe, { timeoutMs: 5_000 })).code === 0
}
