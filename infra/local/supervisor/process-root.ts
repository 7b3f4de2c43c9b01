import { spawnSync } from 'node:child_process'
import { existsSync } from 'node:fs'
import { findTool } from './tool-paths.ts'

/**
 * The process that everything else of a local stack runs below.
 *
 * 1. It reaps. A sandbox whose agent ended becomes the child of the nearest reaper; where that is a slow process 1,
 *    ended sandboxes stay in the process table and their deletion waits. `tini -s` reaps at once.
 * 2. It hides `/proc/sys/net`. Kernels from 6.13 on show `net/core/rmem_default` in every network namespace, by which
 *    runsc recognises the host's own namespace and refuses to give a sandbox a network. An empty file system on top, in a
 *    mount namespace of our own, hides it from us and from nobody else.
 */

const MARK = 'TORPOR_PROCESS_ROOT'
const SIGN_OF_ROOT_NAMESPACE = '/proc/sys/net/core/rmem_default'

/** `/proc` becomes private first, or the mount would spread to where the host shares its mounts. */
const HIDE_AND_RUN =
  'mount --make-private /proc && mount -t tmpfs -o size=4k,mode=555 torpor /proc/sys/net && exec "$@"'

export type RootNeeds = { readonly tini: string | undefined; readonly hidesNetSettings: boolean }

/**
 * Replaces this process by the same command below a reaper, unless it runs there already or cannot. Call it first in
 * `main.ts`: on return, this is the process that goes on.
 */
export function enterProcessRoot(): void {
  if (process.env[MARK] !== undefined || process.platform !== 'linux') return
  const command = rootCommand(process.execPath, [...process.execArgv, ...process.argv.slice(1)], probeNeeds())
  if (!command) return
  const [file = '', ...args] = command
  process.execve?.(file, [file, ...args], { ...definedEnvironment(), [MARK]: '1' })
}

/** Whether this process runs below a reaper of its own. */
export const hasProcessRoot = (): boolean => process.env[MARK] !== undefined

/** @returns the whole command line, or nothing where nothing is needed */
export function rootCommand(
  program: string,
  args: readonly string[],
  { tini, hidesNetSettings }: RootNeeds,
): readonly string[] | undefined {
  if (!tini) return undefined
  const hidden = hidesNetSettings
    ? ['unshare', '--mount', '--propagation', 'unchanged', '--', 'sh', '-c', HIDE_AND_RUN, 'sh']
    : []
  return [tini, '-s', '--', ...hidden, program, ...args]
}

function probeNeeds(): RootNeeds {
  return { tini: findTool('tini'), hidesNetSettings: process.getuid?.() === 0 && showsSignInNewNamespace() }
}

function showsSignInNewNamespace(): boolean {
  if (!existsSync(SIGN_OF_ROOT_NAMESPACE)) return false
  return spawnSync('unshare', ['--net', '--', 'test', '-e', SIGN_OF_ROOT_NAMESPACE]).status === 0
}

function definedEnvironment(): Record<string, string> {
  return Object.fromEntries(
    Object.entries(process.env).flatMap(([name, value]) => (value === undefined ? [] : [[name, value]])),
  )
}
