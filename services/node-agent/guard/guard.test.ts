import { spawn } from 'node:child_process'
import type { ChildProcess } from 'node:child_process'
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { LIMITS, systemClock } from '@torpor/contracts'
import { until } from '../agent-world.ts'
import type { CgroupHierarchy } from '../cgroups/hierarchy.ts'
import { findHierarchy, foldersOf, makeCgroup, removeCgroup } from '../cgroups/hierarchy.ts'
import { connectGuard } from '../membership/guard-link.ts'
import { machineMonotonicMs } from '../membership/machine-clock.ts'
import { nextFence } from './fence.ts'
import { cgroupFreezer, noFreezer } from './freezer.ts'
import { startGuard } from './guard.ts'

const FENCE_MS = 400

describe('the fence', () => {
  const state = { deadlineMs: 1_000, fenced: false }

  test('closes when no renewal was granted in time, measured from its sending', () => {
    const granted = nextFence(state, { kind: 'granted', sentAtMs: 900 }, 990, 500)
    expect(granted).toEqual({ deadlineMs: 1_400, fenced: false })
    expect(nextFence(granted, { kind: 'tick' }, 1_399, 500).fenced).toBe(false)
    expect(nextFence(granted, { kind: 'tick' }, 1_400, 500).fenced).toBe(true)
  })

  test('a grant alone does not open it, nor does an agent without a lease', () => {
    const fenced = { deadlineMs: 1_000, fenced: true }
    expect(nextFence(fenced, { kind: 'reconciled' }, 1_001, 500).fenced).toBe(true)
    const granted = nextFence(fenced, { kind: 'granted', sentAtMs: 2_000 }, 2_010, 500)
    expect(granted).toEqual({ deadlineMs: 2_500, fenced: true })
    expect(nextFence(granted, { kind: 'reconciled' }, 2_020, 500).fenced).toBe(false)
  })

  test('a grant that was under way for too long does not count', () => {
    expect(nextFence(state, { kind: 'granted', sentAtMs: 400 }, 1_100, 500).fenced).toBe(true)
  })
})

describe('agent and guard', () => {
  let folder: string
  beforeEach(async () => {
    folder = await mkdtemp(join(tmpdir(), 'torpor-guard-'))
  })
  afterEach(() => rm(folder, { recursive: true, force: true }))

  test('the agent hears that the lease is lost, and that it is back after it has reconciled', async () => {
    const socketPath = join(folder, 'guard.sock')
    const guard = await startGuard({
      socketPath,
      freezer: noFreezer(),
      fenceMs: FENCE_MS,
      log: () => undefined,
    })
    const link = connectGuard(socketPath, systemClock, () => undefined)
    const heard: boolean[] = []
    link.onFenced((fenced) => void heard.push(fenced))
    await until('the fence', () => heard.at(-1) || undefined)
    link.granted(machineMonotonicMs() + 60_000)
    link.reconciled()
    await until('the end of the fence', () => heard.at(-1) === false || undefined)
    link.close()
    await guard.close()
  })

  test('an agent that finds its guard again tells the last grant again', async () => {
    const socketPath = join(folder, 'guard.sock')
    const options = {
      socketPath,
      freezer: noFreezer(),
      fenceMs: 3 * LIMITS.guardReconnectMs,
      log: () => undefined,
    }
    const link = connectGuard(socketPath, systemClock, () => undefined)
    link.granted(machineMonotonicMs() + 60_000)
    const heard: boolean[] = []
    link.onFenced((fenced) => void heard.push(fenced))
    const guard = await startGuard(options)
    await until('a word of the guard', () => heard.length > 0 || undefined)
    const beganMs = performance.now()
    await until('the time to pass', () => performance.now() - beganMs > options.fenceMs || undefined)
    expect(heard).toEqual([false])
    link.close()
    await guard.close()
  })
})

const hierarchy = await findHierarchy()
const reason = process.getuid?.() === 0 ? (hierarchy === undefined ? 'no cgroups here' : '') : 'needs root'
if (reason !== '') process.stderr.write(`guard over a real cgroup: skipped, ${reason}\n`)

describe.skipIf(reason !== '')(`a guard over a real cgroup ${reason}`, () => {
  const path = `/torpor/guard-test-${process.pid}`
  let folder: string
  let victim: ChildProcess
  beforeEach(async () => {
    folder = await mkdtemp(join(tmpdir(), 'torpor-guard-'))
    victim = spawn('sh', ['-c', `while :; do echo . >> ${folder}/beats; sleep 0.01; done`])
    await enter(path, victim.pid ?? 0)
  })
  afterEach(async () => {
    if (hierarchy === undefined) return
    await cgroupFreezer(hierarchy, path).thaw()
    const ended = new Promise((resolve) => victim.once('exit', resolve))
    victim.kill('SIGKILL')
    await ended
    await until('the empty cgroup', () =>
      removeCgroup(hierarchy, path).then(
        () => true,
        () => undefined,
      ),
    )
    await rm(folder, { recursive: true, force: true })
  })

  const beats = async (): Promise<number> =>
    (await readFile(join(folder, 'beats'), 'utf8').catch(() => '')).length
  const frozen = (): Promise<boolean> =>
    hierarchy === undefined ? Promise.resolve(false) : cgroupFreezer(hierarchy, path).isFrozen()
  const goesOn = async (): Promise<void> => {
    const before = await beats()
    await until('a beat', async () => (await beats()) > before || undefined)
  }
  const start = () => {
    if (hierarchy === undefined) throw new Error('no cgroups')
    const freezer = cgroupFreezer(hierarchy, path)
    return startGuard({
      socketPath: join(folder, 'guard.sock'),
      freezer,
      fenceMs: FENCE_MS,
      log: () => undefined,
    })
  }

  test('freezes the node without any agent, and a guard that starts anew keeps it so', async () => {
    await goesOn()
    const first = await start()
    await until('the frozen node', async () => (await frozen()) || undefined)
    const held = await beats()
    await first.close()
    const second = await start()
    const link = connectGuard(join(folder, 'guard.sock'), systemClock, () => undefined)
    const heard: boolean[] = []
    link.onFenced((fenced) => void heard.push(fenced))
    await until('the word of the second guard', () => heard.length > 0 || undefined)
    expect(heard).toEqual([true])
    expect(await beats()).toBe(held)
    link.granted(machineMonotonicMs() + 60_000)
    link.reconciled()
    await until('the thaw', async () => !(await frozen()) || undefined)
    await goesOn()
    link.close()
    await second.close()
  })

  test('a node with a lease is left alone', async () => {
    const guard = await start()
    const link = connectGuard(join(folder, 'guard.sock'), systemClock, () => undefined)
    link.granted(machineMonotonicMs() + 60_000)
    const beganMs = performance.now()
    await until('twice the time', () => performance.now() - beganMs > 2 * FENCE_MS || undefined)
    expect(await frozen()).toBe(false)
    await goesOn()
    link.close()
    await guard.close()
  })
})

async function enter(path: string, pid: number): Promise<void> {
  if (hierarchy === undefined) return
  await makeCgroup(hierarchy, path)
  const target = (place: CgroupHierarchy): string =>
    place.version === 2 ? join(place.root, path) : join(place.roots.freezer, path)
  expect(foldersOf(hierarchy, path)).toContain(target(hierarchy))
  await writeFile(join(target(hierarchy), 'cgroup.procs'), String(pid))
}
