/**
 * The gVisor driver: `SandboxRuntime` on runsc. Invariants:
 * R1 one actor, one slot, one network; a slot is never used twice.
 * R2 the verbs of one sandbox run one after the other.
 * R3 between the image of a checkpoint and the end of the sandbox no instruction of it runs; its volumes are copied after
 *    it was killed, so that memory, root file system and volumes are of the same instant.
 * R4 all that an agent must know after a restart is in the slots' records and in the kernel.
 */
import { existsSync } from 'node:fs'
import { mkdir, readdir, readFile, writeFile } from 'node:fs/promises'
import { arch } from 'node:os'
import { join } from 'node:path'
import {
  fault,
  type CheckpointResult,
  type PreparedSandbox,
  type SandboxExit,
  type SandboxRuntime,
  type SandboxSpec,
} from '@torpor/contracts'
import { z } from 'zod'
import type { SandboxShape } from './bundle.ts'
import { exitOf, watchExit } from './exit-watch.ts'
import type { Image, Images } from './images.ts'
import { GVISOR_LIMITS } from './options.ts'
import { mustSucceed } from './runsc.ts'
import { nodeCgroup, type SlotMaker, type SlotParts } from './slot-maker.ts'
import type { SlotRecord } from './slot.ts'
import { packVolumes, unpackVolumes } from './volumes.ts'

export type RuntimeParts = SlotParts & {
  readonly images: Images
  readonly slots: SlotMaker
  readonly runscVersion: string
}

/** One sandbox of an actor, as long as the agent lives. */
type Sandbox = {
  record: SlotRecord
  readonly exit: PromiseWithResolvers<SandboxExit>
  watch: AbortController
  burst: NodeJS.Timeout | undefined
  /** Settles when its processes are in the control group of its worker. */
  readonly moved: Promise<void>
  /** What to make ahead once this one runs. */
  readonly shape: SandboxShape | undefined
}

/** File of a generation that says what it was made with. */
const ABOUT_FILE = 'sandbox.json'
const aboutSchema = z.object({ imageDigest: z.string() })

export async function gvisorRuntime(parts: RuntimeParts): Promise<SandboxRuntime> {
  const { runsc, cgroups, networks, folders, images, slots } = parts
  const sandboxes = new Map<string, Sandbox>()
  const turns = new Map<string, Promise<unknown>>()
  const cleaning = new Set<Promise<void>>()

  const inTurn = <T>(sandboxId: string, verb: () => Promise<T>): Promise<T> => {
    const before = turns.get(sandboxId) ?? Promise.resolve()
    const turn = before.then(verb, verb)
    const settled = turn.then(
      () => undefined,
      () => undefined,
    )
    turns.set(sandboxId, settled)
    void settled.then(() => turns.get(sandboxId) === settled && turns.delete(sandboxId))
    return turn
  }
  const known = (sandboxId: string): Sandbox => {
    const sandbox = sandboxes.get(sandboxId)
    if (sandbox === undefined) throw fault('INTERNAL', sandboxId, { detail: 'no such sandbox on this node' })
    return sandbox
  }
  const save = async (sandbox: Sandbox, change: Partial<SlotRecord>): Promise<void> => {
    sandbox.record = { ...sandbox.record, ...change }
    await folders.write(sandbox.record)
  }
  const watch = (sandbox: Sandbox): void => {
    sandbox.watch = new AbortController()
    void watchExit(runsc.root, cgroups, sandbox.record, sandbox.watch.signal).then(async (exit) => {
      await save(sandbox, { state: 'ended', exit }).catch(() => undefined)
      sandbox.exit.resolve(exit)
    })
  }
  const limitCpu = (sandbox: Sandbox): void => {
    const { cgroup, cpuMilli, memoryMib } = sandbox.record
    const limits = { memoryMib: memoryMib + GVISOR_LIMITS.overheadMib, ...(cpuMilli ? { cpuMilli } : {}) }
    cgroups.limit(cgroup, limits).catch(() => undefined)
  }
  const liftCpu = async ({ burst, record }: Sandbox): Promise<void> => {
    clearTimeout(burst)
    await cgroups.limit(record.cgroup, { memoryMib: record.memoryMib + GVISOR_LIMITS.overheadMib })
  }
  const nowRuns = async (sandbox: Sandbox): Promise<void> => {
    watch(sandbox)
    sandbox.burst = setTimeout(limitCpu, GVISOR_LIMITS.burstMs, sandbox).unref()
    await save(sandbox, { state: 'running' })
    if (sandbox.shape !== undefined) slots.makeAhead(sandbox.shape)
  }
  const forget = async (sandboxId: string, sandbox: Sandbox): Promise<void> => {
    sandbox.watch.abort()
    clearTimeout(sandbox.burst)
    sandboxes.delete(sandboxId)
    await sandbox.moved.catch(() => undefined)
    await slots.release(sandbox.record)
  }
  const imageOf = async (spec: SandboxSpec, folder: string | undefined): Promise<Image> => {
    const digest = folder === undefined ? undefined : await aboutDigest(folder)
    if (digest === undefined) return images.pull(spec.image)
    const image = (await images.byDigest(digest)) ?? (await images.pull(spec.image))
    if (image.digest === digest) return image
    throw fault('IMAGE_UNKNOWN', spec.image, { detail: `its snapshot needs ${digest}, which is not here` })
  }
  const prepare = async (spec: SandboxSpec, folder?: string): Promise<PreparedSandbox> => {
    const { sandboxId } = spec
    const there = sandboxes.get(sandboxId)
    if (there !== undefined)
      return { sandboxId, ipAddress: networks.adopt(there.record.networkIndex).ipAddress }
    const shape: SandboxShape = { ...spec, image: await imageOf(spec, folder) }
    const slot = await slots.take(shape)
    try {
      if (folder !== undefined) await unpackVolumes(folder, folders.folderOf(slot.id))
      const sandbox = await book(slot, spec, shape)
      return { sandboxId, ipAddress: networks.adopt(sandbox.record.networkIndex).ipAddress }
    } catch (cause) {
      sandboxes.delete(sandboxId)
      await slots.release(slot)
      throw cause
    }
  }
  const book = async (slot: SlotRecord, spec: SandboxSpec, shape: SandboxShape): Promise<Sandbox> => {
    const { sandboxId, cpuMilli, memoryMib, workerCgroup } = spec
    const cgroup = `${workerCgroup === '' ? nodeCgroup(parts.options) : workerCgroup}/${slot.id}`
    const record: SlotRecord = { ...slot, state: 'prepared', sandboxId, cpuMilli, memoryMib, cgroup }
    await cgroups.make(cgroup, { memoryMib: memoryMib + GVISOR_LIMITS.overheadMib })
    // the record first: an agent that dies in between finds the processes in one of the two groups
    await folders.write(record)
    // the kernel takes some 10 ms for it: it goes on while runsc begins to restore
    const moved = cgroup === slot.cgroup ? Promise.resolve() : moveTo(slot.cgroup, cgroup)
    moved.catch(() => undefined)
    const sandbox = newSandbox(record, shape, moved)
    sandboxes.set(sandboxId, sandbox)
    return sandbox
  }
  const moveTo = async (from: string, to: string): Promise<void> => {
    await cgroups.move(from, to)
    await cgroups.remove(from)
  }
  const checkpoint = async (sandboxId: string, folder: string): Promise<CheckpointResult> => {
    const sandbox = known(sandboxId)
    const { record } = sandbox
    const phasesMs: Record<string, number> = {}
    await liftCpu(sandbox)
    sandbox.watch.abort()
    await mkdir(folder, { recursive: true })
    const result = await runsc.checkpoint(record.id, folder)
    phasesMs['checkpoint'] = result.ms
    if (result.code !== 0) return checkpointFailed(sandbox, result.stderr)
    const begun = performance.now()
    // its kernel stands still since the image was begun; this makes sure of it
    await cgroups.signalKill(record.cgroup)
    if (record.hasVolumes) await packVolumes(folders.folderOf(record.id), folder)
    await writeFile(join(folder, ABOUT_FILE), JSON.stringify({ imageDigest: record.imageDigest }))
    phasesMs['volumes'] = performance.now() - begun
    const files = (await readdir(folder)).sort()
    // what is left to do can wait: the answer cannot
    const task = forget(sandboxId, sandbox)
      .catch((cause: unknown) => parts.options.onNote(`${record.id} is not given back: ${String(cause)}`))
      .finally(() => cleaning.delete(task))
    cleaning.add(task)
    return { kind: 'saved', files, phasesMs }
  }
  const checkpointFailed = async (sandbox: Sandbox, said: string): Promise<CheckpointResult> => {
    const message = said.trim().split('\n').at(-1)?.slice(0, 300) ?? 'no reason given'
    const alive = (await runsc.exec(sandbox.record.id, ['/proc/self/exe', '--version'])).code !== 128
    if (alive && (await cgroups.members(sandbox.record.cgroup)).length > 0) {
      watch(sandbox)
      limitCpu(sandbox)
      return { kind: 'failedAlive', message }
    }
    await cgroups.kill(sandbox.record.cgroup)
    const exit = exitOf(undefined, await cgroups.memoryKills(sandbox.record.cgroup))
    await save(sandbox, { state: 'ended', exit })
    sandbox.exit.resolve(exit)
    return { kind: 'failedDead', message }
  }
  const restore = async (
    sandboxId: string,
    folder: string,
  ): Promise<{ phasesMs: Record<string, number> }> => {
    const sandbox = known(sandboxId)
    if (sandbox.record.state === 'running') return { phasesMs: {} }
    const bundle = join(folders.folderOf(sandbox.record.id), 'bundle')
    const [result] = await Promise.all([runsc.restore(sandbox.record.id, bundle, folder), sandbox.moved])
    if (result.code !== 0) {
      const said = result.stderr.trim().split('\n').at(-1)?.slice(0, 300) ?? ''
      throw fault('RESTORE_FAILED', sandboxId, { detail: `runsc restore ended with ${result.code}: ${said}` })
    }
    await nowRuns(sandbox)
    return { phasesMs: { restore: result.ms } }
  }

  for (const record of await folders.all()) {
    networks.adopt(record.networkIndex)
    const { sandboxId } = record
    if (sandboxId === undefined) {
      await slots.release(record)
      continue
    }
    const sandbox = newSandbox(record, undefined, Promise.resolve())
    sandboxes.set(sandboxId, sandbox)
    if (record.exit !== undefined) sandbox.exit.resolve(record.exit)
    if (record.state === 'running') {
      limitCpu(sandbox)
      watch(sandbox)
    }
  }
  await folders.removeBroken()
  await networks.removeStrays()

  return {
    version: {
      sandboxClass: 'gvisor',
      version: {
        attributes: [
          { key: 'runsc.version', value: parts.runscVersion },
          { key: 'runsc.platform', value: parts.options.platform },
          { key: 'cpu.architecture', value: arch() },
          ...(await cpuAttributes()),
        ],
      },
    },
    pullImage: async (image) => {
      await images.pull(image)
    },
    prepare: (spec, folder) => inTurn(spec.sandboxId, () => prepare(spec, folder)),
    start: (sandboxId) =>
      inTurn(sandboxId, async () => {
        const sandbox = known(sandboxId)
        if (sandbox.record.state === 'running') return
        // an entry point that does not exist shows here; its text lies in the log, too
        const [result] = await Promise.all([runsc.start(sandbox.record.id), sandbox.moved])
        mustSucceed(result, 'start', sandboxId)
        await nowRuns(sandbox)
      }),
    restore: (sandboxId, folder) => inTurn(sandboxId, () => restore(sandboxId, folder)),
    checkpoint: (sandboxId, folder) => inTurn(sandboxId, () => checkpoint(sandboxId, folder)),
    exit: (sandboxId, signal) => {
      const { exit } = known(sandboxId)
      const aborted = new Promise<never>((_, reject) => {
        signal.addEventListener('abort', () => reject(signal.reason as Error), { once: true })
        if (signal.aborted) reject(signal.reason as Error)
      })
      return Promise.race([exit.promise, aborted])
    },
    pause: (sandboxId) => cgroups.freeze(known(sandboxId).record.cgroup),
    unpause: (sandboxId) => cgroups.thaw(known(sandboxId).record.cgroup),
    exec: async (sandboxId, command) => {
      const { code, stdout, stderr } = await runsc.exec(known(sandboxId).record.id, command)
      return { exitCode: code, output: stdout + stderr }
    },
    stats: async (sandboxId) => {
      const { record } = known(sandboxId)
      await folders.boundLog(record.id)
      return cgroups.usage(record.cgroup)
    },
    logs: (sandboxId, linesMax) => folders.logTail(known(sandboxId).record.id, linesMax),
    terminate: (sandboxId) =>
      inTurn(sandboxId, async () => {
        const sandbox = sandboxes.get(sandboxId)
        if (sandbox !== undefined) await forget(sandboxId, sandbox)
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
      await Promise.all(cleaning)
      await slots.close()
      for (const { watch: watching, burst } of sandboxes.values()) {
        watching.abort()
        clearTimeout(burst)
      }
      await networks.close()
    },
  }
}

function newSandbox(record: SlotRecord, shape: SandboxShape | undefined, moved: Promise<void>): Sandbox {
  const exit = Promise.withResolvers<SandboxExit>()
  return { record, exit, watch: new AbortController(), burst: undefined, moved, shape }
}

async function aboutDigest(folder: string): Promise<string | undefined> {
  const file = join(folder, ABOUT_FILE)
  return existsSync(file)
    ? aboutSchema.parse(JSON.parse(await readFile(file, 'utf8'))).imageDigest
    : undefined
}

/** A memory image runs only where the CPU has what the sandbox saw. */
async function cpuAttributes(): Promise<readonly { readonly key: string; readonly value: string }[]> {
  const text = await readFile('/proc/cpuinfo', 'utf8').catch(() => '')
  const line = (name: string): string => new RegExp(`^${name}\\s*: (.*)$`, 'm').exec(text)?.[1] ?? ''
  return [
    { key: 'cpu.vendor', value: line('vendor_id') },
    { key: 'cpu.model', value: line('model name') },
  ]
}
