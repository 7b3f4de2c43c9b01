import { writeFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import type { Booking } from '@torpor/state-machines'
import type { CgroupHierarchy } from './hierarchy.ts'
import { makeCgroup, removeCgroup } from './hierarchy.ts'
import type { WorkerCgroups } from './worker-cgroups.ts'

const PERIOD_US = 100_000

/** Workers as cgroups `<nodeCgroup>/<worker>` with the pool's limits. Needs root. */
export function linuxCgroups(hierarchy: CgroupHierarchy, nodeCgroup: string): WorkerCgroups {
  const pathOf = (worker: string): string => `${nodeCgroup}/${worker}`
  return {
    pathOf,
    async ensure(worker, limits) {
      await makeCgroup(hierarchy, pathOf(worker))
      for (const { file, text } of limitFiles(hierarchy, pathOf(worker), limits)) await writeFile(file, text)
    },
    remove: (worker) => removeCgroup(hierarchy, pathOf(worker)),
    async leave(workers) {
      for (const path of [...workers.map(pathOf), nodeCgroup, dirname(nodeCgroup)])
        await removeCgroup(hierarchy, path).catch(() => undefined)
    },
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
