/** A driver of its own with the counter's image, and what tests ask of it. */
import { mkdtemp, readdir, readFile, rm } from 'node:fs/promises'
import { join } from 'node:path'
import type { SandboxRuntime, SandboxSpec } from '@torpor/contracts'
import { buildCounterImage } from '../../images/build-counter-image.ts'
import { openCgroups, type Cgroups } from './cgroups.ts'
import { openGvisorRuntime, type GvisorOptions } from './index.ts'
import { runCommand } from './run-command.ts'
import type { GvisorForTests } from './runsc-for-tests.ts'

export type CounterWorld = {
  readonly tag: string
  /** The driver chose it; known once the world has begun. */
  network: string
  readonly runDir: string
  /** Control group that books the sandboxes. */
  readonly worker: string
  stateDir: string
  image: string
  runtime: SandboxRuntime
  begin(): Promise<void>
  end(): Promise<void>
  terminateAll(): Promise<void>
  cgroups(): Cgroups
  options(): Pick<GvisorOptions, 'runscPath' | 'stateDir' | 'runDir' | 'nodeTag'>
  open(): Promise<SandboxRuntime>
  spec(sandboxId: string, more?: Partial<SandboxSpec>): SandboxSpec
  /** A place for a generation. */
  folder(): string
  /** Starts a counter, and says its address. */
  started(sandboxId: string, more?: Partial<SandboxSpec>): Promise<string>
  restored(sandboxId: string, from: string): Promise<string>
  /** Kills the processes of a sandbox, as the kernel or an operator might. */
  kill(sandboxId: string): Promise<void>
  /** What the machine shows of this driver. */
  traces(): Promise<Readonly<Record<string, readonly string[]>>>
}

/** Stands in until `begin`; whatever is asked of it says so. */
const notBegun: SandboxRuntime = new Proxy({} as SandboxRuntime, {
  get: () => {
    throw new Error('the world has not begun')
  },
})

/** @param letter one for each test file */
export function counterWorld(found: GvisorForTests, letter: 'r' | 'e' | 'n'): CounterWorld {
  const tag = `${letter}${process.pid % 10_000}`
  let snapshots = 0
  const world: CounterWorld = {
    tag,
    network: '',
    runDir: `/run/tp-${tag}`,
    worker: `/tp${tag}/worker`,
    stateDir: '',
    image: '',
    runtime: notBegun,
    cgroups: () => openCgroups(),
    options: () => ({
      runscPath: found.runscPath ?? '',
      stateDir: world.stateDir,
      runDir: world.runDir,
      nodeTag: tag,
    }),
    open: () => openGvisorRuntime(world.options()),
    begin: async () => {
      world.stateDir = await mkdtemp('/tmp/tp-gvisor-')
      world.image = (await buildCounterImage(join(world.stateDir, 'layout'))).reference
      world.runtime = await world.open()
      world.network = await readFile(join(world.stateDir, 'network'), 'utf8')
      await world.runtime.pullImage(world.image)
    },
    terminateAll: async () => {
      for (const { sandboxId } of await world.runtime.list()) await world.runtime.terminate(sandboxId)
    },
    end: async () => {
      await world.runtime.close()
      await world.cgroups().remove(`/tp${tag}`)
      await rm(world.stateDir, { recursive: true, force: true })
    },
    spec: (sandboxId, more = {}) => ({
      sandboxId,
      image: world.image,
      command: [],
      args: [],
      env: {},
      cpuMilli: 1_000,
      memoryMib: 256,
      diskMib: 512,
      durableDirs: [{ name: 'data', mountPath: '/data' }],
      workerCgroup: world.worker,
      ...more,
    }),
    folder: () => join(world.stateDir, 'snapshots', `${(snapshots += 1)}`),
    started: async (sandboxId, more) => {
      const { ipAddress } = await world.runtime.prepare(world.spec(sandboxId, more))
      await world.runtime.start(sandboxId)
      return ipAddress
    },
    restored: async (sandboxId, from) => {
      const { ipAddress } = await world.runtime.prepare(world.spec(sandboxId), from)
      await world.runtime.restore(sandboxId, from)
      return ipAddress
    },
    kill: async (sandboxId) => world.cgroups().signalKill(await cgroupOf(world, sandboxId)),
    traces: () => traces(world),
  }
  return world
}

async function cgroupOf({ stateDir }: CounterWorld, sandboxId: string): Promise<string> {
  for (const name of await readdir(join(stateDir, 'slots'))) {
    const record = JSON.parse(await readFile(join(stateDir, 'slots', name, 'slot.json'), 'utf8')) as unknown
    const { cgroup, sandboxId: owner } = record as { cgroup: string; sandboxId?: string }
    if (owner === sandboxId) return cgroup
  }
  throw new Error(`no slot of ${sandboxId}`)
}

async function traces(world: CounterWorld): Promise<Readonly<Record<string, readonly string[]>>> {
  const { tag, runDir, network, stateDir, cgroups } = world
  const signs = [`tp${tag}-`, runDir, `${network}.`]
  const mine = (text: string): readonly string[] =>
    text.split('\n').filter((line) => signs.some((sign) => line.includes(sign)))
  const output = async (file: string, ...args: readonly string[]): Promise<readonly string[]> => {
    const result = await runCommand(file, args, { timeoutMs: 5_000 }).catch(() => undefined)
    return mine(result?.stdout ?? '')
  }
  return {
    processes: mine((await commandLines()).join('\n')),
    namespaces: await output('ip', 'netns', 'list'),
    routes: await output('ip', '-o', 'route', 'show'),
    links: await output('ip', '-o', 'link'),
    rules: await output('iptables-save'),
    mounts: mine(await readFile('/proc/mounts', 'utf8')),
    groups: (await cgroups().children('/')).filter((name) => name === `tp${tag}`),
    folders: [...(await readdir(join(stateDir, 'slots'))), ...(await readdir(join(stateDir, 'overlays')))],
  }
}

/** Of every process; those that are dead and not reaped yet have none. */
async function commandLines(): Promise<readonly string[]> {
  const pids = (await readdir('/proc')).filter((name) => /^\d+$/.test(name))
  const lines = pids.map((pid) => readFile(`/proc/${pid}/cmdline`, 'utf8').catch(() => ''))
  return (await Promise.all(lines)).map((line) => line.replaceAll('\0', ' '))
}
