import { rm } from 'node:fs/promises'
import { join } from 'node:path'
import { fault } from '@torpor/contracts'
import { GVISOR_LIMITS, type GvisorOptions } from './options.ts'
import { runCommand, type CommandOptions, type CommandResult } from './run-command.ts'

/** The command line of runsc: one method per verb that the driver uses. */
export type Runsc = {
  /** Flags, as every call has them: a sandbox must be restored with those it was created with. */
  readonly flags: readonly string[]
  readonly root: string
  version(): Promise<string>
  /** Creates without running; all of it is born in the control groups whose files are given. */
  create(
    id: string,
    bundle: string,
    outputFd: number,
    memberFiles: readonly string[],
    diskMib: number,
  ): Promise<CommandResult>
  start(id: string): Promise<CommandResult>
  restore(id: string, bundle: string, imageFolder: string): Promise<CommandResult>
  checkpoint(id: string, imageFolder: string): Promise<CommandResult>
  exec(id: string, command: readonly string[]): Promise<CommandResult>
  /** Removes what runsc keeps of a sandbox whose processes are dead. */
  forget(id: string): Promise<void>
}

/** Enters the cgroups that are named before `--`, then becomes the rest: all that runsc starts is born inside. */
const ENTER_CGROUPS = 'while [ "$1" != -- ]; do echo $$ > "$1" || exit 1; shift; done; shift; exec "$@"'

/** @param options what the agent was configured with */
export function runscCommands(options: GvisorOptions): Runsc {
  const root = options.runDir
  const overlays = join(options.stateDir, 'overlays')
  const flags = [
    '--root',
    root,
    `--platform=${options.platform}`,
    '--network=sandbox',
    // the driver owns the cgroups: a sandbox moves to the worker that books it after it was created
    '--ignore-cgroups',
    // files written to the root file system lie on disk, not in memory, and are part of a checkpoint
    `--overlay2=root:dir=${overlays}`,
    '--net-disconnect-ok',
  ]
  const call = (args: readonly string[], more?: Partial<CommandOptions>): Promise<CommandResult> =>
    runCommand(options.runscPath, [...flags, ...args], {
      timeoutMs: GVISOR_LIMITS.commandTimeoutMs,
      ...more,
    })
  const pages = { timeoutMs: GVISOR_LIMITS.pagesTimeoutMs }
  return {
    flags,
    root,
    version: async () => {
      const { stdout } = await runCommand(options.runscPath, ['--version'], { timeoutMs: 10_000 })
      return /version (\S+)/.exec(stdout)?.[1] ?? 'unknown'
    },
    create: (id, bundle, outputFd, memberFiles, diskMib) => {
      const bounded = flags.map((flag) => (flag.startsWith('--overlay2') ? `${flag},size=${diskMib}M` : flag))
      const command = [options.runscPath, ...bounded, 'create', '-bundle', bundle, id]
      return runCommand('/bin/sh', ['-c', ENTER_CGROUPS, 'sh', ...memberFiles, '--', ...command], {
        timeoutMs: GVISOR_LIMITS.commandTimeoutMs,
        outputFd,
      })
    },
    start: (id) => call(['start', id]),
    restore: (id, bundle, image) =>
      call(['restore', '-detach', '-bundle', bundle, '-image-path', image, id], pages),
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

/** Throws what runsc said when it failed. */
export function mustSucceed(result: CommandResult, what: string, id: string, said = result.stderr): void {
  if (result.code === 0) return
  const text = said.trim().split('\n').slice(-3).join(' · ').slice(0, 500)
  throw fault('INTERNAL', id, { detail: `runsc ${what} ended with ${result.code}: ${text}` })
}
