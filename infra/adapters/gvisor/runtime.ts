/**
 * The gVisor driver: `SandboxRuntime` on runsc. Invariants:
 * R1 one actor, one slot, one network; a slot is never used twice.
 * R2 the verbs of one sandbox run one after the other.
 * R3 between the image of a checkpoint and the end of the sandbox no instruction of it runs; its volumes are copied after
 *    it was killed, so that memory, root file system and volumes are of the same instant.
 * R4 all that an agent must know after a restart is in the slots' records and in the kernel.
 */
import { fault, type SandboxRuntime } from '@torpor/contracts'
import { checkpoint } from './checkpoint.ts'
import { prepare } from './prepare.ts'
import { runtimeVersion } from './runtime-version.ts'
import { mustSucceed } from './runsc.ts'
import {
  enterWorker,
  forget,
  limitCpu,
  newSandbox,
  nowRuns,
  save,
  watch,
  type Context,
  type Sandbox,
} from './sandbox.ts'
import { turns } from './turns.ts'

/** Takes over what an earlier agent left, then offers the verbs. */
export async function gvisorRuntime(context: Context): Promise<SandboxRuntime> {
  const { runsc, cgroups, networks, folders, images, slots, sandboxes, remains } = context
  const inTurn = turns()
  const known = (sandboxId: string): Sandbox => {
    const sandbox = sandboxes.get(sandboxId)
    if (sandbox === undefined) throw fault('INTERNAL', sandboxId, { detail: 'no such sandbox on this node' })
    return sandbox
  }
  await adoptAll(context)
  return {
    version: await runtimeVersion(context.options.platform, runsc.version),
    pullImage: async (image) => {
      await images.pull(image)
    },
    prepare: (spec, folder) => inTurn(spec.sandboxId, () => prepare(context, spec, folder)),
    start: (sandboxId) => inTurn(sandboxId, () => start(context, sandboxId, known(sandboxId))),
    restore: (sandboxId, folder) =>
      inTurn(sandboxId, () => restore(context, sandboxId, known(sandboxId), folder)),
    checkpoint: (sandboxId, folder) =>
      inTurn(sandboxId, () => checkpoint(context, sandboxId, known(sandboxId), folder)),
    exit: async (sandboxId, signal) => Promise.race([known(sandboxId).exit.promise, aborted(signal)]),
    pause: async (sandboxId) => cgroups.freeze(known(sandboxId).record.cgroup),
    unpause: async (sandboxId) => cgroups.thaw(known(sandboxId).record.cgroup),
    exec: async (sandboxId, command) => {
      const { code, stdout, stderr } = await runsc.exec(known(sandboxId).record.id, command)
      return { exitCode: code, output: stdout + stderr }
    },
    stats: async (sandboxId) => {
      const { record } = known(sandboxId)
      await folders.boundLog(record.id)
      return cgroups.usage(record.cgroup)
    },
    logs: async (sandboxId, linesMax) => folders.logTail(known(sandboxId).record.id, linesMax),
    terminate: (sandboxId) =>
      inTurn(sandboxId, async () => {
        const sandbox = sandboxes.get(sandboxId)
        if (sandbox !== undefined) await forget(context, sandboxId, sandbox)
        const left = [...remains].filter((dead) => dead.sandboxId === sandboxId)
        await Promise.all(left.map((dead) => dead.giveBack()))
      }),
    list: () =>
      Promise.all(
        [...sandboxes].map(async ([sandboxId, { record }]) => ({
          sandboxId,
          ipAddress: networks.adopt(record.networkIndex).ipAddress,
          alive: record.state !== 'ended' && (await cgroups.members(record.cgroup)).length > 0,
          started: record.state === 'running' || record.state === 'ended',
        })),
      ),
    close: async () => {
      await Promise.all([...remains].map((dead) => dead.giveBack()))
      await slots.close()
      for (const { watch: watching, burst } of sandboxes.values()) {
        watching.abort()
        clearTimeout(burst)
      }
      await networks.close()
    },
  }
}

async function start(context: Context, sandboxId: string, sandbox: Sandbox): Promise<void> {
  if (sandbox.record.state === 'running') return
  save(context, sandbox, { state: 'running' })
  const [result] = await Promise.all([context.runsc.start(sandbox.record.id), enterWorker(context, sandbox)])
  if (result.code !== 0) save(context, sandbox, { state: 'prepared' })
  mustSucceed(result, 'start', sandboxId)
  nowRuns(context, sandbox)
}

async function restore(
  context: Context,
  sandboxId: string,
  sandbox: Sandbox,
  folder: string,
): Promise<{ readonly phasesMs: Readonly<Record<string, number>> }> {
  if (sandbox.record.state === 'running') return { phasesMs: {} }
  const begunMs = performance.now()
  // the record first: whoever finds it with processes takes them for an actor's
  save(context, sandbox, { state: 'running' })
  const [result] = await Promise.all([
    context.slots.restore(sandbox.record, folder),
    enterWorker(context, sandbox),
  ])
  if (result.code !== 0) {
    save(context, sandbox, { state: 'prepared' })
    const said = result.stderr.trim().split('\n').at(-1)?.slice(0, 300) ?? ''
    throw fault('RESTORE_FAILED', sandboxId, { detail: `runsc restore ended with ${result.code}: ${said}` })
  }
  nowRuns(context, sandbox)
  return { phasesMs: { restore: performance.now() - begunMs } }
}

async function adoptAll(context: Context): Promise<void> {
  const { folders, networks, slots, sandboxes } = context
  for (const record of await folders.all()) {
    networks.adopt(record.networkIndex)
    if (record.sandboxId === undefined) {
      await slots.release(record)
      continue
    }
    const sandbox = newSandbox(record, undefined)
    sandboxes.set(record.sandboxId, sandbox)
    if (record.exit !== undefined) sandbox.exit.resolve(record.exit)
    if (record.state !== 'running') continue
    limitCpu(context, sandbox)
    watch(context, sandbox)
  }
  await folders.removeBroken()
  await networks.removeStrays()
}

function aborted(signal: AbortSignal): Promise<never> {
  return new Promise((_, reject) => {
    const stop = (): void => reject(signal.reason instanceof Error ? signal.reason : new Error('aborted'))
    if (signal.aborted) stop()
    else signal.addEventListener('abort', stop, { once: true })
  })
}
