import { readFile, stat } from 'node:fs/promises'
import { join } from 'node:path'
import { afterAll, describe, expect, test } from 'vitest'
import { findHierarchy, foldersOf, removeCgroup } from './hierarchy.ts'
import { linuxCgroups } from './linux-cgroups.ts'

const hierarchy = await findHierarchy()
const reason = process.getuid?.() === 0 ? (hierarchy === undefined ? 'no cgroups here' : '') : 'needs root'
if (reason !== '') process.stderr.write(`workers as cgroups: skipped, ${reason}\n`)

describe.skipIf(reason !== '' || hierarchy === undefined)(`workers as cgroups ${reason}`, () => {
  const node = `/torpor/cgroup-test-${process.pid}`
  const place = hierarchy ?? { version: 2, root: '/none' }
  const cgroups = linuxCgroups(place, node)
  afterAll(() => removeCgroup(place, node))

  test('a worker has the limits of its pool, gets new ones, and goes without a trace', async () => {
    await cgroups.ensure('w-0', { cpuMilli: 500, memoryMib: 128 })
    await cgroups.ensure('w-0', { cpuMilli: 250, memoryMib: 64 })
    expect(await limitsOf('w-0')).toEqual({ quotaUs: '25000', memoryBytes: String(64 * 2 ** 20) })
    await cgroups.remove('w-0')
    await cgroups.remove('w-0')
    for (const folder of foldersOf(place, cgroups.pathOf('w-0')))
      await expect(stat(folder)).rejects.toThrow('ENOENT')
  })

  const limitsOf = async (worker: string) => {
    const path = cgroups.pathOf(worker)
    const read = async (root: string, file: string) => (await readFile(join(root, path, file), 'utf8')).trim()
    if (place.version === 2) {
      const quota = await read(place.root, 'cpu.max')
      return { quotaUs: quota.split(' ')[0], memoryBytes: await read(place.root, 'memory.max') }
    }
    return {
      quotaUs: await read(place.roots.cpu, 'cpu.cfs_quota_us'),
      memoryBytes: await read(place.roots.memory, 'memory.limit_in_bytes'),
    }
  }
})
