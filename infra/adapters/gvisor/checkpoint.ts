/** Puts a sandbox into a folder and ends it: saved, or failed with the sandbox alive, or failed with it dead. */
import { mkdir, readdir } from 'node:fs/promises'
import type { CheckpointResult } from '@torpor/contracts'
import { sandboxAnswers } from './control-socket.ts'
import { exitOf } from './exit-watch.ts'
import { GVISOR_LIMITS } from './options.ts'
import { writeAbout } from './prepare.ts'
import { forget, liftLimits, limitCpu, save, watch, type Context, type Sandbox } from './sandbox.ts'
import { packVolumes } from './volumes.ts'

export async function checkpoint(
  context: Context,
  sandboxId: string,
  sandbox: Sandbox,
  folder: string,
): Promise<CheckpointResult> {
  const { record } = sandbox
  if (record.exit !== undefined) return { kind: 'failedDead', message: record.exit.message }
  try {
    await mkdir(folder, { recursive: true })
    sandbox.watch.abort()
    // both are done long before runsc has come to write the image
    const beside = Promise.all([liftLimits(context, sandbox), writeAbout(folder, record)])
    beside.catch(() => undefined)
    const result = await context.runsc.checkpoint(record.id, folder)
    if (result.code !== 0) return await failed(context, sandbox, lastLine(result.stderr))
    await beside
    const begun = performance.now()
    const files = await takeFiles(context, sandbox, folder)
    giveBackLater(context, sandboxId, sandbox)
    return { kind: 'saved', files, phasesMs: { runsc: result.ms, volumes: performance.now() - begun } }
  } catch (cause) {
    return failed(context, sandbox, String(cause))
  }
}

async function takeFiles(context: Context, { record }: Sandbox, folder: string): Promise<readonly string[]> {
  // its kernel stands still since the image was begun; this makes sure of it
  await context.cgroups.signalKill(record.cgroup)
  if (record.hasVolumes) await packVolumes(context.folders.folderOf(record.id), folder)
  return (await readdir(folder)).sort()
}

/** What is left to do can wait; the answer cannot, and would have to share the machine with it. */
function giveBackLater(context: Context, sandboxId: string, sandbox: Sandbox): void {
  context.sandboxes.delete(sandboxId)
  clearTimeout(sandbox.burst)
  let task: Promise<void> | undefined
  const giveBack = (): Promise<void> => {
    clearTimeout(timer)
    task ??= forget(context, sandboxId, sandbox)
      .catch((cause: unknown) =>
        context.options.onNote(`${sandbox.record.id} is not given back: ${String(cause)}`),
      )
      .finally(() => context.remains.delete(dead))
    return task
  }
  const dead = { sandboxId, giveBack }
  const timer = setTimeout(giveBack, GVISOR_LIMITS.giveBackDelayMs).unref()
  context.remains.add(dead)
}

async function failed(context: Context, sandbox: Sandbox, message: string): Promise<CheckpointResult> {
  const { record, exit } = sandbox
  sandbox.watch.abort()
  if (await sandboxAnswers(context.runsc.root, record.id)) {
    watch(context, sandbox)
    limitCpu(context, sandbox)
    return { kind: 'failedAlive', message }
  }
  await context.cgroups.kill(record.cgroup)
  const end = exitOf(undefined, await context.cgroups.memoryKills(record.cgroup))
  save(context, sandbox, { state: 'ended', exit: end })
  exit.resolve(end)
  return { kind: 'failedDead', message }
}

const lastLine = (text: string): string => (text.trim().split('\n').at(-1) ?? '').slice(0, 300)
