import { readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { fault } from '@torpor/contracts'
import type { CgroupHierarchy } from '../cgroups/hierarchy.ts'
import { makeCgroup, removeCgroup } from '../cgroups/hierarchy.ts'

/** Holds every process of a cgroup, and of those below it, still. */
export interface Freezer {
  isFrozen(): Promise<boolean>
  /** Resolves when every process is held; what is made in it afterwards is held too. */
  freeze(): Promise<void>
  thaw(): Promise<void>
  /** Removes the cgroup if it holds nothing. */
  leave(): Promise<void>
}

/** A process in the kernel is held only when it returns: asked for this long. */
const FREEZE_MS_MAX = 5_000
const FREEZE_POLL_MS = 5

export function cgroupFreezer(hierarchy: CgroupHierarchy, path: string): Freezer {
  const { file, on, off, reads } = wordsOf(hierarchy, path)
  const isFrozen = async (): Promise<boolean> => reads(await readFile(file.state, 'utf8').catch(() => ''))
  return {
    isFrozen,
    async freeze() {
      await makeCgroup(hierarchy, path)
      await writeFile(file.order, on)
      for (let waitedMs = 0; !(await isFrozen()); waitedMs += FREEZE_POLL_MS) {
        if (waitedMs >= FREEZE_MS_MAX)
          throw fault('INTERNAL', path, { detail: 'its processes do not freeze' })
        await sleep(FREEZE_POLL_MS)
      }
    },
    thaw: () => writeFile(file.order, off),
    leave: () => removeCgroup(hierarchy, path).catch(() => undefined),
  }
}

function wordsOf(hierarchy: CgroupHierarchy, path: string) {
  if (hierarchy.version === 2) {
    const folder = join(hierarchy.root, path)
    const file = { order: join(folder, 'cgroup.freeze'), state: join(folder, 'cgroup.events') }
    return { file, on: '1', off: '0', reads: (text: string) => /^frozen 1$/m.test(text) }
  }
  const state = join(hierarchy.roots.freezer, path, 'freezer.state')
  const reads = (text: string): boolean => text.trim() === 'FROZEN'
  return { file: { order: state, state }, on: 'FROZEN', off: 'THAWED', reads }
}

/** Where nothing can be frozen: the gate alone is closed. */
export function noFreezer(): Freezer {
  let frozen = false
  return {
    isFrozen: async () => frozen,
    async freeze() {
      frozen = true
    },
    async thaw() {
      frozen = false
    },
    leave: async () => undefined,
  }
}
