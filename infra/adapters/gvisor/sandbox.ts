/** One sandbox of an actor, as long as the agent lives, and what is done about it while it runs. */
import type { SandboxExit } from '@torpor/contracts'
import type { SandboxShape } from './bundle.ts'
import { watchExit } from './exit-watch.ts'
import type { Images } from './images.ts'
import { GVISOR_LIMITS } from './options.ts'
import { nodeCgroup, type SlotMaker, type SlotParts } from './slot-maker.ts'
import type { SlotRecord } from './slot.ts'

export type Sandbox = {
  record: SlotRecord
  readonly exit: PromiseWithResolvers<SandboxExit>
  watch: AbortController
  burst: NodeJS.Timeout | undefined
  /** Settles when its processes are in the control group of its worker; absent until it is let go. */
  moved?: Promise<void>
  /** What to make ahead once this one runs; unknown of one that an earlier agent started. */
  readonly shape: SandboxShape | undefined
}

/** A dead sandbox whose slot is still to be given back. */
export type Remains = {
  readonly sandboxId: string
  /** Gives it back now; resolves when that is done. */
  giveBack(): Promise<void>
}

/** What the verbs of the driver share. */
export type Context = SlotParts & {
  readonly images: Images
  readonly slots: SlotMaker
  readonly sandboxes: Map<string, Sandbox>
  /** What checkpoints left, to be given back soon. */
  readonly remains: Set<Remains>
}

export function newSandbox(record: SlotRecord, shape: SandboxShape | undefined): Sandbox {
  const exit = Promise.withResolvers<SandboxExit>()
  return { record, exit, watch: new AbortController(), burst: undefined, shape }
}

/**
 * From the node's control group into its own below its worker's, with its limits. The kernel makes each of these steps wait
 * for some milliseconds: it goes on while the sandbox begins to run, when nothing else of the agent waits for the disk.
 */
export function enterWorker(context: Context, sandbox: Sandbox): Promise<void> {
  sandbox.moved ??= moveInto(context, sandbox.record)
  return sandbox.moved
}

async function moveInto({ cgroups, options }: Context, record: SlotRecord): Promise<void> {
  const from = `${nodeCgroup(options)}/${record.id}`
  await cgroups.make(record.cgroup, { memoryMib: memoryLimitMib(record) })
  if (from === record.cgroup) return
  await cgroups.move(from, record.cgroup)
  await cgroups.remove(from)
}

export function save({ folders }: Context, sandbox: Sandbox, change: Partial<SlotRecord>): void {
  sandbox.record = { ...sandbox.record, ...change }
  folders.write(sandbox.record)
}

/** Waits for its end beside everything else. */
export function watch(context: Context, sandbox: Sandbox): void {
  sandbox.watch = new AbortController()
  void ended(context, sandbox, sandbox.watch.signal)
}

async function ended(context: Context, sandbox: Sandbox, signal: AbortSignal): Promise<void> {
  const exit = await watchExit(context.runsc.root, context.cgroups, sandbox.record, signal)
  try {
    save(context, sandbox, { state: 'ended', exit })
  } catch (cause) {
    context.options.onNote(`the end of ${sandbox.record.id} cannot be recorded: ${String(cause)}`)
  }
  sandbox.exit.resolve(exit)
}

/** From here on its process runs: its end is watched, and after a moment of grace its CPU limit holds. */
export function nowRuns(context: Context, sandbox: Sandbox): void {
  watch(context, sandbox)
  sandbox.burst = setTimeout(limitCpu, GVISOR_LIMITS.burstMs, context, sandbox).unref()
  if (sandbox.shape !== undefined) context.slots.makeAhead(sandbox.shape)
}

export function limitCpu({ cgroups, options }: Context, { record }: Sandbox): void {
  const { cgroup, cpuMilli } = record
  const limits = { memoryMib: memoryLimitMib(record), ...(cpuMilli === undefined ? {} : { cpuMilli }) }
  cgroups
    .limit(cgroup, limits)
    .catch((cause: unknown) => options.onNote(`${record.id} runs without limits: ${String(cause)}`))
}

/**
 * A small CPU limit must not slow a checkpoint, nor must its memory limit: pages of the image that wait for the disk are charged
 * to it, and at its limit the sandbox would wait for that disk. The limits of its worker hold on.
 */
export function liftLimits({ cgroups, options }: Context, { burst, record }: Sandbox): Promise<void> {
  clearTimeout(burst)
  return cgroups
    .limit(record.cgroup, {})
    .catch((cause: unknown) => options.onNote(`${record.id} keeps its limits: ${String(cause)}`))
}

const memoryLimitMib = ({ memoryMib }: Pick<SlotRecord, 'memoryMib'>): number =>
  memoryMib + GVISOR_LIMITS.overheadMib

/** Ends what lives of it and gives all of it back. */
export async function forget(context: Context, sandboxId: string, sandbox: Sandbox): Promise<void> {
  sandbox.watch.abort()
  clearTimeout(sandbox.burst)
  // another sandbox of the same actor may be there already
  if (context.sandboxes.get(sandboxId) === sandbox) context.sandboxes.delete(sandboxId)
  await sandbox.moved?.catch(() => undefined)
  await context.slots.release(sandbox.record)
}
