import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import type { Booking } from '../domain/booking.ts'
import type { CgroupHierarchy } from './hierarchy.ts'
import { makeCgroup, removeCgroup } from './hierarchy.ts'
import type { WorkerCgroups } from './worker-cgroups.ts'

const PERIOD_US = 100_000

/** Path of the cgroup that holds everything of a node, which the guard freezes as one. */
export const nodeCgroup = (node: string): string => `/torpor/${node}`

/** Workers as cgroups `torpor/<node>/<worker>` with the pool's limits. Needs root. */
export function linuxCgroups(hierarchy: CgroupHierarchy, node: string): WorkerCgroups {
  const pathOf = (worker: string): string => `${nodeCgroup(node)}/${worker}`
  return {
    pathOf,
    async ensure(worker, limits) {
      await makeCgroup(hierarchy, pathOf(worker))
      for (const { file, text } of limitFiles(hierarchy, pathOf(worker), limits)) await writeFile(file, text)
    },
    remove: (worker) => removeCgroup(hierarchy, pathOf(worker)),
  }
}

function limitFiles(hierarchy: CgroupHierarchy, path: string, limits: Booking) {
  const quotaUs = String(Math.round((limits.cpuMilli * PERIOD_US) / 1000))
  const memoryBytes = String(limits.memoryMib * 2 ** 20)
  if (hierarchy.version === 2) {
    return [
      { file: join(hierarchy.root, path, 'cpu.max'), text: `${quotaUs} ${PERIOD_US}` },
      { file: join(hierarchy.root, path, 'memory.max'), text: memoryBytes },
    ]
  }
  return [
    { file: join(hierarchy.roots.cpu, path, 'cpu.cfs_period_us'), text: String(PERIOD_US) },
    { file: join(hierarchy.roots.cpu, path, 'cpu.cfs_quota_us'), text: quotaUs },
    { file: join(hierarchy.roots.memory, path, 'memory.limit_in_bytes'), text: memoryBytes },
  ]
}
