import type { SandboxRuntimeVersion } from '../resources/snapshot.ts'

/** What a sandbox shall run. */
export type SandboxSpec = {
  /** Unique on the node; the actor's uid. */
  readonly sandboxId: string
  readonly image: string
  readonly command: readonly string[]
  readonly args: readonly string[]
  readonly env: Readonly<Record<string, string>>
  readonly cpuMilli: number
  readonly memoryMib: number
  readonly diskMib: number
  /** Host folder of each durable directory, and where the actor sees it. The driver makes and removes the folders. */
  readonly durableDirs: readonly { readonly name: string; readonly mountPath: string }[]
  /** Absolute path of the cgroup of the worker that books it, relative to the hierarchy's root; empty for none. */
  readonly workerCgroup: string
}

/** A place made ready: network, files, cgroup; nothing of the actor runs. */
export type PreparedSandbox = {
  readonly sandboxId: string
  /** Address inside which the actor's ports are reached, from this node only. */
  readonly ipAddress: string
}

export type CheckpointResult =
  /** The image is complete in the folder, and the sandbox has ended without running an instruction after it. */
  | {
      readonly kind: 'saved'
      readonly files: readonly string[]
      readonly phasesMs: Readonly<Record<string, number>>
    }
  /** No image; the sandbox runs on. */
  | { readonly kind: 'failedAlive'; readonly message: string }
  /** No image, and the sandbox is gone. */
  | { readonly kind: 'failedDead'; readonly message: string }

export type SandboxExit = {
  readonly reason: 'exited' | 'memory' | 'killed'
  readonly exitCode?: number
  readonly message: string
}

export type SandboxStats = { readonly cpuSeconds: number; readonly memoryBytes: number }

/**
 * Runs sandboxes of one class. Laws (`ports/laws/sandbox-runtime-laws.ts`) hold for every class and for the simulated one.
 * All verbs are idempotent by `sandboxId`. A driver keeps nothing that a restart of the agent loses: `list` finds all again.
 */
export interface SandboxRuntime {
  readonly version: SandboxRuntimeVersion
  /** Checks the image reference and unpacks it once; faults IMAGE_UNKNOWN, IMAGE_INVALID. */
  pullImage(image: string): Promise<void>
  /** Takes a slot, lays out files (from the image, or from `restoreFrom`'s folder), creates the sandbox; runs nothing. */
  prepare(spec: SandboxSpec, restoreFrom?: string): Promise<PreparedSandbox>
  /** Runs the image's process from its beginning. */
  start(sandboxId: string): Promise<void>
  /** Runs on from the generation in `folder` that `prepare` was given; the folder may be removed once this resolves, unless `keepFolder` says otherwise. */
  restore(sandboxId: string, folder: string): Promise<{ readonly phasesMs: Readonly<Record<string, number>> }>
  /** Writes memory, root file system changes and durable directories into the empty `folder`, then ends the sandbox. */
  checkpoint(sandboxId: string, folder: string): Promise<CheckpointResult>
  /** Resolves once when the sandbox ends by itself or is killed, within `exitNoticeMs`; not after checkpoint or terminate. */
  exit(sandboxId: string, signal: AbortSignal): Promise<SandboxExit>
  pause(sandboxId: string): Promise<void>
  unpause(sandboxId: string): Promise<void>
  exec(
    sandboxId: string,
    command: readonly string[],
  ): Promise<{ readonly exitCode: number; readonly output: string }>
  stats(sandboxId: string): Promise<SandboxStats>
  /** The last lines that the process wrote. */
  logs(sandboxId: string, linesMax: number): Promise<readonly string[]>
  /** Ends it, if it lives, and gives everything of it back. Resolves when no process of it is left. */
  terminate(sandboxId: string): Promise<void>
  /** Every sandbox of this runtime on the node, those too that an earlier agent started. */
  list(): Promise<
    readonly {
      readonly sandboxId: string
      readonly ipAddress: string
      readonly alive: boolean
      readonly started: boolean
    }[]
  >
  /** Gives back what is kept ahead (networks, sandboxes without an actor). Running sandboxes stay. */
  close(): Promise<void>
}
