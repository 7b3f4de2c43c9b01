import { mkdir, readFile, rmdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'

/** The cgroup hierarchies of this machine: version 1 has one a controller, version 2 one for all. */
export type CgroupHierarchy =
  | { readonly version: 1; readonly roots: Readonly<Record<'cpu' | 'memory' | 'freezer', string>> }
  | { readonly version: 2; readonly root: string }

/** Reads the mounts; undefined where no usable hierarchy is mounted. */
export async function findHierarchy(mountsFile = '/proc/mounts'): Promise<CgroupHierarchy | undefined> {
  const mounts = (await readFile(mountsFile, 'utf8').catch(() => ''))
    .split('\n')
    .map((line) => line.split(' '))
    .map(([, folder = '', type = '', options = '']) => ({ folder, type, options: options.split(',') }))
  const withController = (name: string): string | undefined =>
    mounts.find(({ type, options }) => type === 'cgroup' && options.includes(name))?.folder
  const [cpu, memory, freezer] = ['cpu', 'memory', 'freezer'].map(withController)
  if (cpu !== undefined && memory !== undefined && freezer !== undefined)
    return { version: 1, roots: { cpu, memory, freezer } }
  const unified = mounts.find(({ type }) => type === 'cgroup2')?.folder
  return unified === undefined ? undefined : { version: 2, root: unified }
}

/** Every folder that the cgroup `path` has. */
export const foldersOf = (hierarchy: CgroupHierarchy, path: string): readonly string[] =>
  (hierarchy.version === 1 ? Object.values(hierarchy.roots) : [hierarchy.root]).map((root) =>
    join(root, path),
  )

/** Makes the cgroup and its parents, with the controllers that its children need. */
export async function makeCgroup(hierarchy: CgroupHierarchy, path: string): Promise<void> {
  for (const folder of foldersOf(hierarchy, path)) await mkdir(folder, { recursive: true })
  if (hierarchy.version === 1) return
  let folder = hierarchy.root
  for (const part of ['', ...path.split('/').filter((name) => name !== '')]) {
    folder = join(folder, part)
    await writeFile(join(folder, 'cgroup.subtree_control'), '+cpu +memory')
  }
}

/** Removes a cgroup that holds nothing. */
export async function removeCgroup(hierarchy: CgroupHierarchy, path: string): Promise<void> {
  for (const folder of foldersOf(hierarchy, path)) {
    await rmdir(folder).catch((error: NodeJS.ErrnoException) => {
      if (error.code !== 'ENOENT') throw error
    })
  }
}
