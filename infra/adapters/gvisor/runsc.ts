import { rm } from 'node:fs/promises'
import { join } from 'node:path'
import { fault } from '@torpor/contracts'
import { bundleOf } from './bundle.ts'
import { holdPipe, holdRestore, imageLink, type HeldRestore } from './held-restore.ts'
import { GVISOR_LIMITS, type GvisorOptions } from './options.ts'
import { runCommand, type CommandOptions, type CommandResult } from './run-command.ts'

/** The command line of runsc: one method per verb that the driver uses. */
export type Runsc = {
  readonly version: string
  /** Folder of its own files and of the control sockets. */
  readonly root: string
  /** Creates without running; all of it is born in the control groups whose files are given. */
  create(
    id: string,
    slotFolder: string,
    outputFd: number,
    memberFiles: readonly string[],
    diskMib: number,
  ): Promise<CommandResult>
  start(id: string): Promise<CommandResult>
  /** Starts a restore that waits until it is let go; `slotFolder` holds the bundle and the pipe that holds it. */
  holdRestore(id: string, slotFolder: string): HeldRestore
  checkpoint(id: string, imageFolder: string): Promise<CommandResult>
  exec(id: string, command: readonly string[]): Promise<CommandResult>
  /** Removes what runsc keeps of a sandbox whose processes are dead. */
  forget(id: string): Promise<void>
}

/**
 * Makes the pipe that is named first, enters the cgroups that are named up to `--`, then becomes the rest: all that runsc
 * starts is born inside.
 */
const MAKE_PIPE_AND_ENTER_CGROUPS =
  'mkfifo -m 600 "$1" || exit 1; shift; while [ "$1" != -- ]; do echo $$ > "$1" || exit 1; shift; done; shift; exec "$@"'

/** For `setpriv` of util-linux: the kernel kills the command when the agent is gone. */
const DIES_WITH_AGENT = ['--pdeathsig', 'KILL']

/**
 * Builds from before 2025 take every network namespace of kernel 6.13 and later for the root one, because they find
 * `/proc/sys/net/core/rmem_default` there: they are shown an empty folder instead.
 */
const HIDE_NET_SETTINGS = ['unshare', '-m', '--propagation', 'unchanged', 'sh', '-c']
const HIDDEN = 'mount -t tmpfs tmpfs /proc/sys/net && exec "$@"'

/** Finds out which build it is. @param options what the agent was configured with */
export async function openRunsc(options: GvisorOptions): Promise<Runsc> {
  const version = await versionOf(options.runscPath)
  const old = isOld(version)
  const root = options.runDir
  const flags = [
    '--root',
    root,
    `--platform=${options.platform}`,
    '--network=sandbox',
    // the driver owns the cgroups: a sandbox moves to the worker that books it after it was created
    '--ignore-cgroups',
    '--net-disconnect-ok',
  ]
  // files written to the root file system lie on disk, not in memory, and are part of a checkpoint
  const overlay = `--overlay2=root:dir=${join(options.stateDir, 'overlays')}`
  const bounded = (diskMib: number): string => (old ? overlay : `${overlay},size=${diskMib}M`)
  const hidden = old ? [...HIDE_NET_SETTINGS, HIDDEN, 'sh'] : []
  const call = (args: readonly string[], more: CommandOptions = {}): Promise<CommandResult> =>
    run([options.runscPath, ...flags, overlay, ...args], more)
  const callWithNetwork = (args: readonly string[], more: CommandOptions = {}): Promise<CommandResult> =>
    run([...hidden, options.runscPath, ...flags, overlay, ...args], more)
  const pages = { timeoutMs: GVISOR_LIMITS.pagesTimeoutMs }
  return {
    version,
    root,
    create: (id, slotFolder, outputFd, memberFiles, diskMib) => {
      const bundle = bundleOf(slotFolder)
      const create = [options.runscPath, ...flags, bounded(diskMib), 'create', '-bundle', bundle, id]
      const enter = ['/bin/sh', '-c', MAKE_PIPE_AND_ENTER_CGROUPS, 'sh', holdPipe(slotFolder)]
      return run([...enter, ...memberFiles, '--', ...hidden, ...create], { outputFd })
    },
    start: (id) => callWithNetwork(['start', id]),
    holdRestore: (id, slotFolder) => {
      const command = [...DIES_WITH_AGENT, ...hidden, options.runscPath, ...flags, overlay]
      const paths = ['-bundle', bundleOf(slotFolder), '-image-path', imageLink(slotFolder)]
      const restore = [`--debug-log=${holdPipe(slotFolder)}`, 'restore', '-detach', ...paths, id]
      return holdRestore(slotFolder, (signal) => runCommand('setpriv', [...command, ...restore], { signal }))
    },
    checkpoint: (id, image) => call(['checkpoint', '-compression=none', '-image-path', image, id], pages),
    exec: (id, command) =>
      call(['exec', id, ...command], {
        timeoutMs: GVISOR_LIMITS.execTimeoutMs,
        outputBytesMax: GVISOR_LIMITS.execOutputBytesMax,
      }),
    forget: async (id) => {
      const names = [`${id}_sandbox:${id}.state`, `${id}_sandbox:${id}.lock`, `runsc-${id}.sock`]
      await Promise.all(names.map((name) => rm(join(root, name), { force: true })))
    },
  }
}

function run([file = '', ...args]: readonly string[], more: CommandOptions): Promise<CommandResult> {
  return runCommand(file, args, { timeoutMs: GVISOR_LIMITS.commandTimeoutMs, ...more })
}

/** @throws SETUP_INCOMPLETE when it cannot be started */
export async function versionOf(runscPath: string): Promise<string> {
  const result = await run([runscPath, '--version'], {}).catch((cause: unknown) => {
    throw fault('SETUP_INCOMPLETE', runscPath, { detail: 'runsc cannot be started', cause })
  })
  return /version (\S+)/.exec(result.stdout)?.[1] ?? 'unknown'
}

/**
 * Whether it is a build from before 2025: such a one has no disk limit, breaks a connection that is open at a checkpoint,
 * and does not always tell how a process ended. Every version names its day; one that does not is taken for a new one.
 */
export function isOld(version: string): boolean {
  const day = /20\d{6}/.exec(version)?.[0]
  return day !== undefined && day < '20250101'
}

/** Throws what runsc said when it failed. */
export function mustSucceed(result: CommandResult, what: string, id: string, said = result.stderr): void {
  if (result.code === 0) return
  const text = said.trim().split('\n').slice(-3).join(' · ').slice(0, 500)
  throw fault('INTERNAL', id, { detail: `runsc ${what} ended with ${result.code}: ${text}` })
}
