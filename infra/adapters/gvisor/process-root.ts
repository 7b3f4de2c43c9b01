/**
 * What the process of a node agent must be for gVisor to work well, checked once at the start with a text that says what
 * to do. Sandboxes outlive the command that made them, and whoever inherits them must notice their death at once.
 */
import { readFile } from 'node:fs/promises'
import { setTimeout as pause } from 'node:timers/promises'
import { fault } from '@torpor/contracts'
import { runCommand } from './run-command.ts'

const REAP_MS_MAX = 250

/**
 * Throws SETUP_INCOMPLETE unless this process is root, runs under something that reaps orphans at once (a child
 * subreaper: `tini -s -- node …`, or a PID 1 that is quick), and, for a runsc from before 2025, sees no
 * `/proc/sys/net/core/rmem_default`: such a build takes every network namespace of kernel 6.13 and later for the root one.
 */
export async function checkProcessRoot(runscVersion: string): Promise<void> {
  if (process.getuid?.() !== 0) throw fault('SETUP_INCOMPLETE', 'gvisor', { detail: 'run the node agent as root' })
  if (!(await reapsAtOnce())) {
    throw fault('SETUP_INCOMPLETE', 'gvisor', {
      detail: 'dead sandboxes would stay for seconds: start the node agent under "tini -s --"',
    })
  }
  if (!(await mistakesNamespaces(runscVersion))) return
  throw fault('SETUP_INCOMPLETE', 'gvisor', {
    detail:
      'this runsc needs: unshare -m --propagation unchanged sh -c "mount -t tmpfs tmpfs /proc/sys/net && exec tini -s -- node …"',
  })
}

async function reapsAtOnce(): Promise<boolean> {
  const { stdout } = await runCommand('/bin/sh', ['-c', '(exec sleep 0) & echo $!'], { timeoutMs: 5_000 })
  const pid = Number(stdout.trim())
  const deadline = performance.now() + REAP_MS_MAX
  while (performance.now() < deadline) {
    const there = await readFile(`/proc/${pid}/stat`, 'utf8').catch(() => undefined)
    if (there === undefined) return true
    await pause(5)
  }
  return false
}

async function mistakesNamespaces(runscVersion: string): Promise<boolean> {
  const date = /(20\d{6})/.exec(runscVersion)?.[1]
  if (date === undefined || date >= '20250101') return false
  const probe = ['-n', 'test', '-e', '/proc/sys/net/core/rmem_default']
  return (await runCommand('unshare', probe, { timeoutMs: 5_000 })).code === 0
}
