import { execFileSync } from 'node:child_process'
import { readFileSync, readdirSync } from 'node:fs'
import { join } from 'node:path'

/** What of the machine a demo could leave behind: each a line that a person understands. */
export function machineState(dataFolder: string): readonly string[] {
  return [
    ...processes(dataFolder),
    ...namespaces(),
    ...interfaces(),
    ...cgroups(),
    ...mounts(dataFolder),
  ].toSorted()
}

/** Processes whose command line or environment names the folder. */
function processes(dataFolder: string): readonly string[] {
  return readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name) && Number(name) !== process.pid)
    .flatMap((pid) => {
      const text = [read(`/proc/${pid}/cmdline`), read(`/proc/${pid}/environ`)].join('\0')
      return text.includes(dataFolder)
        ? [`process ${pid}: ${read(`/proc/${pid}/cmdline`).replaceAll('\0', ' ')}`]
        : []
    })
}

const namespaces = (): readonly string[] =>
  lines('ip', ['netns', 'list']).map((line) => `network namespace ${line.split(' ')[0]}`)

const interfaces = (): readonly string[] =>
  lines('ip', ['-o', 'link']).map((line) => `interface ${line.split(':')[1]?.trim().split('@')[0]}`)

const mounts = (dataFolder: string): readonly string[] =>
  read('/proc/mounts')
    .split('\n')
    .filter((line) => line.includes(dataFolder) || line.includes('/torpor'))
    .map((line) => `mount ${line.split(' ')[1]}`)

/** Control groups whose path names Torpor, in every hierarchy. */
function cgroups(): readonly string[] {
  const find = (folder: string, depth: number): readonly string[] => {
    if (depth === 0) return []
    return subfolders(folder).flatMap((name) => {
      const path = join(folder, name)
      return [...(path.includes('torpor') ? [`cgroup ${path}`] : []), ...find(path, depth - 1)]
    })
  }
  return find('/sys/fs/cgroup', 3)
}

function subfolders(folder: string): readonly string[] {
  try {
    return readdirSync(folder, { withFileTypes: true })
      .filter((entry) => entry.isDirectory())
      .map(({ name }) => name)
  } catch {
    return []
  }
}

function read(path: string): string {
  try {
    return readFileSync(path, 'utf8')
  } catch {
    return ''
  }
}

function lines(command: string, args: readonly string[]): readonly string[] {
  return execFileSync(command, args, { encoding: 'utf8' })
    .split('\n')
    .filter((line) => line !== '')
}
