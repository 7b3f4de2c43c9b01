/**
 * Control groups, version 1 and 2 behind one interface. Paths are relative to the hierarchy's root (`/torpor/n1/w1`);
 * what one version keeps in several hierarchies is one group here.
 */
import { existsSync, readFileSync } from 'node:fs'
import { mkdir, readFile, readdir, rmdir, writeFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { fault } from '@torpor/contracts'
import { GVISOR_LIMITS } from './options.ts'

export type CgroupLimits = {
  /** Thousandths of a core; absent: no limit. */
  readonly cpuMilli?: number
  /** Absent: no limit. */
  readonly memoryMib?: number
}

export type Cgroups = {
  readonly version: 1 | 2
  make(path: string, limits?: CgroupLimits): Promise<void>
  limit(path: string, limits: CgroupLimits): Promise<void>
  /** Files that a process writes its id to in order to enter. */
  memberFiles(path: string): readonly string[]
  members(path: string): Promise<readonly number[]>
  /** Moves every process, those too that are born meanwhile. */
  move(from: string, to: string): Promise<void>
  freeze(path: string): Promise<void>
  thaw(path: string): Promise<void>
  /** How often the kernel killed for want of memory. */
  memoryKills(path: string): Promise<number>
  usage(path: string): Promise<{ readonly cpuSeconds: number; readonly memoryBytes: number }>
  /**
   * Sends SIGKILL to all that is in it: none of it runs another instruction of its own. What the kernel then has to take apart
   * gives way to whoever waits for the answer, until `kill` waits for it.
   */
  signalKill(path: string): Promise<void>
  /** Kills all that is in it and resolves when nothing is left. Throws when something cannot be killed in time. */
  kill(path: string): Promise<void>
  /** Removes the group and those below it; they must be empty. No error when there is none. */
  remove(path: string): Promise<void>
  children(path: string): Promise<readonly string[]>
}

const CONTROLLERS = ['cpu', 'cpuacct', 'memory', 'freezer'] as const
const CPU_PERIOD_US = 100_000
const MIB = 1024 * 1024

/** Finds out what this machine has. Throws SETUP_INCOMPLETE where a controller is missing. */
export function openCgroups(): Cgroups {
  const unified = '/sys/fs/cgroup'
  const controllers = existsSync(`${unified}/cgroup.controllers`)
    ? readFileSync(`${unified}/cgroup.controllers`, 'utf8').trim().split(' ')
    : []
  if (controllers.includes('memory') && controllers.includes('cpu')) return version2(unified)
  return version1(versionOneMounts())
}

function versionOneMounts(): ReadonlyMap<string, string> {
  const found = new Map<string, string>()
  for (const line of readFileSync('/proc/self/mounts', 'utf8').split('\n')) {
    const [, folder, type, options] = line.split(' ')
    if (type !== 'cgroup' || folder === undefined || options === undefined) continue
    for (const name of CONTROLLERS) if (options.split(',').includes(name)) found.set(name, folder)
  }
  const missing = CONTROLLERS.filter((name) => !found.has(name))
  if (missing.length === 0) return found
  throw fault('SETUP_INCOMPLETE', 'cgroups', { detail: `no controller ${missing.join(', ')} is mounted` })
}

function version1(mounts: ReadonlyMap<string, string>): Cgroups {
  const roots = [...new Set(mounts.values())]
  // whoever makes a worker's group makes it where limits are set, not where only CPU time is counted: there it is ours
  const others = new Set(CONTROLLERS.filter((name) => name !== 'cpuacct').map((name) => mounts.get(name)))
  const accounting = roots.filter((root) => !others.has(root))
  const file = (controller: string, path: string, name: string): string =>
    join(mounts.get(controller) ?? '/', path, name)
  const members = async (path: string): Promise<readonly number[]> => {
    const lists = await Promise.all(roots.map((root) => numbersIn(join(root, path, 'cgroup.procs'))))
    return [...new Set(lists.flat())]
  }
  const limit = async (path: string, { cpuMilli, memoryMib }: CgroupLimits): Promise<void> => {
    const quota = cpuMilli === undefined ? -1 : Math.max(1_000, (cpuMilli * CPU_PERIOD_US) / 1_000)
    await writeFile(file('cpu', path, 'cpu.cfs_quota_us'), `${Math.round(quota)}`)
    const bytes = memoryMib === undefined ? -1 : memoryMib * MIB
    await writeFile(file('memory', path, 'memory.limit_in_bytes'), `${bytes}`)
  }
  const thaw = (path: string): Promise<void> =>
    writeFile(file('freezer', path, 'freezer.state'), 'THAWED').catch(ignoreMissing)
  const weigh = (path: string, shares: string): Promise<void> =>
    writeFile(file('cpu', path, 'cpu.shares'), shares).catch(ignoreMissing)
  return {
    version: 1,
    make: async (path, limits = {}) => {
      await Promise.all(roots.map((root) => mkdir(join(root, path), { recursive: true })))
      await limit(path, limits)
    },
    limit,
    memberFiles: (path) => roots.map((root) => join(root, path, 'cgroup.procs')),
    members,
    move: (from, to) =>
      moveAll(
        members,
        roots.map((root) => join(root, to, 'cgroup.procs')),
        from,
      ),
    freeze: (path) => writeFile(file('freezer', path, 'freezer.state'), 'FROZEN'),
    thaw,
    memoryKills: async (path) => {
      const text = await readFile(file('memory', path, 'memory.oom_control'), 'utf8').catch(() => '')
      return Number(/^oom_kill (\d+)/m.exec(text)?.[1] ?? 0)
    },
    usage: async (path) => ({
      cpuSeconds: (await numberIn(file('cpuacct', path, 'cpuacct.usage'))) / 1e9,
      memoryBytes: await numberIn(file('memory', path, 'memory.usage_in_bytes')),
    }),
    // a frozen process of version 1 dies only when it is thawed
    signalKill: async (path) => {
      await Promise.all([weigh(path, '2'), signalAll(path, members, thaw)])
    },
    kill: async (path) => {
      await weigh(path, '1024')
      await killAll(path, members, thaw)
    },
    remove: async (path) => {
      await Promise.all(roots.map((root) => removeTree(join(root, path))))
      await Promise.all(accounting.map((root) => removeEmptyParents(root, path)))
    },
    children: (path) => folderNames(file('memory', path, '')),
  }
}

function version2(root: string): Cgroups {
  const file = (path: string, name: string): string => join(root, path, name)
  const members = (path: string): Promise<readonly number[]> => numbersIn(file(path, 'cgroup.procs'))
  const limit = async (path: string, { cpuMilli, memoryMib }: CgroupLimits): Promise<void> => {
    const quota =
      cpuMilli === undefined ? 'max' : Math.max(1_000, Math.round((cpuMilli * CPU_PERIOD_US) / 1_000))
    await writeFile(file(path, 'cpu.max'), `${quota} ${CPU_PERIOD_US}`)
    await writeFile(file(path, 'memory.max'), memoryMib === undefined ? 'max' : `${memoryMib * MIB}`)
  }
  const delegate = async (path: string): Promise<void> => {
    const parent = dirname(join('/', path))
    if (parent !== '/') await delegate(parent)
    await mkdir(join(root, path), { recursive: true })
    await writeFile(join(root, parent, 'cgroup.subtree_control'), '+cpu +memory').catch(() => undefined)
  }
  const thaw = (path: string): Promise<void> =>
    writeFile(file(path, 'cgroup.freeze'), '0').catch(ignoreMissing)
  const weigh = (path: string, weight: string): Promise<void> =>
    writeFile(file(path, 'cpu.weight'), weight).catch(ignoreMissing)
  return {
    version: 2,
    make: async (path, limits = {}) => {
      await delegate(path)
      await limit(path, limits)
    },
    limit,
    memberFiles: (path) => [file(path, 'cgroup.procs')],
    members,
    move: (from, to) => moveAll(members, [file(to, 'cgroup.procs')], from),
    freeze: (path) => writeFile(file(path, 'cgroup.freeze'), '1'),
    thaw,
    memoryKills: async (path) => {
      const text = await readFile(file(path, 'memory.events'), 'utf8').catch(() => '')
      return Number(/^oom_kill (\d+)/m.exec(text)?.[1] ?? 0)
    },
    usage: async (path) => {
      const cpu = await readFile(file(path, 'cpu.stat'), 'utf8')
      const cpuSeconds = Number(/^usage_usec (\d+)/m.exec(cpu)?.[1] ?? 0) / 1e6
      return { cpuSeconds, memoryBytes: await numberIn(file(path, 'memory.current')) }
    },
    signalKill: async (path) => {
      await Promise.all([weigh(path, '1'), signalAll(path, members, thaw)])
    },
    kill: async (path) => {
      await weigh(path, '100')
      await killAll(path, members, thaw)
    },
    remove: (path) => removeTree(join(root, path)),
    children: (path) => folderNames(join(root, path)),
  }
}

type Members = (path: string) => Promise<readonly number[]>

async function moveAll(members: Members, targets: readonly string[], from: string): Promise<void> {
  const deadline = performance.now() + GVISOR_LIMITS.endTimeoutMs
  for (let left = await members(from); left.length > 0; left = await members(from)) {
    if (performance.now() > deadline)
      throw fault('INTERNAL', from, { detail: 'its processes do not leave it' })
    for (const pid of left) for (const target of targets) await writeFile(target, `${pid}`).catch(ignoreDead)
  }
}

type Thaw = (path: string) => Promise<void>

async function signalAll(path: string, members: Members, thaw: Thaw): Promise<void> {
  for (const pid of await members(path)) killOne(pid)
  await thaw(path)
}

async function killAll(path: string, members: Members, thaw: Thaw): Promise<void> {
  const deadline = performance.now() + GVISOR_LIMITS.endTimeoutMs
  await signalAll(path, members, thaw)
  for (let left = await members(path); left.length > 0; left = await members(path)) {
    if (performance.now() > deadline) {
      throw fault('INTERNAL', path, {
        detail: `processes ${left.join(', ')} do not end; is a group above it frozen?`,
      })
    }
    for (const pid of left) killOne(pid)
    await pause(GVISOR_LIMITS.endPollMs)
  }
}

/** SIGKILL; one that is gone already is no error. */
export function killOne(pid: number): void {
  try {
    process.kill(pid, 'SIGKILL')
  } catch {
    // it is gone already
  }
}

async function removeTree(folder: string): Promise<void> {
  for (const name of await folderNames(folder)) await removeTree(join(folder, name))
  await rmdir(folder).catch(ignoreMissing)
}

async function removeEmptyParents(root: string, path: string): Promise<void> {
  for (let parent = dirname(join('/', path)); parent !== '/'; parent = dirname(parent)) {
    const gone = await rmdir(join(root, parent)).then(
      () => true,
      () => false,
    )
    if (!gone) return
  }
}

async function folderNames(folder: string): Promise<string[]> {
  const entries = await readdir(folder, { withFileTypes: true }).catch(() => [])
  return entries.filter((entry) => entry.isDirectory()).map((entry) => entry.name)
}

async function numbersIn(path: string): Promise<number[]> {
  const text = await readFile(path, 'utf8').catch(() => '')
  return text
    .split('\n')
    .filter((line) => line !== '')
    .map(Number)
}

const numberIn = async (path: string): Promise<number> => Number((await readFile(path, 'utf8')).trim())

function ignoreMissing(cause: unknown): void {
  if (!hasCode(cause, 'ENOENT', 'ENODEV')) throw cause
}
function ignoreDead(cause: unknown): void {
  if (!hasCode(cause, 'ESRCH')) throw cause
}
const hasCode = (cause: unknown, ...codes: readonly string[]): boolean =>
  cause instanceof Error && 'code' in cause && codes.includes(String(cause.code))
