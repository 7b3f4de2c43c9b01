import { execFileSync } from 'node:child_process'
import { readFileSync, readdirSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { fnv1a32 } from '@torpor/contracts'
import { localNode } from '../supervisor/clear-machine.ts'
import { bareTag } from './bare-times.ts'

/**
 * What of this machine belongs to the demo of one data folder, each a line that a person understands: found by the folder and
 * by the tags that are made from it, so that other demos on the machine are not seen. Empty where nothing is left.
 */
export function machineState(dataFolder: string): readonly string[] {
  const folder = resolve(dataFolder)
  const { gvisor } = localNode(folder)
  const signs: Signs = {
    texts: [folder, gvisor.runDir, `tp${gvisor.nodeTag}`, bareTag(folder)],
    tag: gvisor.nodeTag,
    metric: `metric ${100_000 + (fnv1a32(gvisor.nodeTag) % 1_000_000)} `,
  }
  const processes = processesOf(signs)
  return [
    ...processes.map(({ pid, text }) => `process ${pid}: ${text}`),
    ...ports(processes.map(({ pid }) => pid)),
    ...marked(signs, 'network namespace', output('ip', ['netns', 'list'])),
    ...marked(signs, 'interface', output('ip', ['-o', 'link'])),
    ...marked(signs, 'rule', output('iptables-save', [])),
    ...routes(signs),
    ...cgroups(signs),
    ...marked(signs, 'mount', read('/proc/mounts').replaceAll('\\040', ' ')),
  ].toSorted()
}

type Signs = {
  /** Any of these in a line makes it this demo's. */
  readonly texts: readonly string[]
  readonly tag: string
  /** The route that claims the network of the sandboxes. */
  readonly metric: string
}

const marked = ({ texts }: Signs, kind: string, text: string): readonly string[] =>
  text
    .split('\n')
    .filter((line) => texts.some((sign) => line.includes(sign)))
    .map((line) => `${kind} ${line}`)

const routes = (signs: Signs): readonly string[] => {
  const lines = output('ip', ['-o', 'route', 'show']).split('\n')
  const claims = lines.filter((line) => line.startsWith('unreachable ') && `${line} `.includes(signs.metric))
  return [...marked(signs, 'route', lines.join('\n')), ...claims.map((line) => `route ${line}`)]
}

/** By command line or environment; those of this very process are not the demo's. */
function processesOf({ texts }: Signs): readonly { readonly pid: string; readonly text: string }[] {
  return readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name) && Number(name) !== process.pid)
    .map((pid) => ({ pid, text: read(`/proc/${pid}/cmdline`).replaceAll('\0', ' ') }))
    .filter(({ pid, text }) =>
      texts.some((sign) => text.includes(sign) || read(`/proc/${pid}/environ`).includes(sign)),
    )
}

/** Those that the demo's processes listen on. */
const ports = (pids: readonly string[]): readonly string[] =>
  output('ss', ['-Hltnp'])
    .split('\n')
    .filter((line) => pids.some((pid) => line.includes(`pid=${pid},`)))
    .map((line) => `port ${line.replaceAll(/ +/g, ' ')}`)

/** In every hierarchy; the demo's are near the top. */
function cgroups({ tag }: Signs): readonly string[] {
  const find = (folder: string, depth: number): readonly string[] =>
    depth === 0
      ? []
      : subfolders(folder).flatMap((name) => {
          const path = join(folder, name)
          return [...(path.includes(tag) ? [`cgroup ${path}`] : []), ...find(path, depth - 1)]
        })
  return find('/sys/fs/cgroup', 5)
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

/** Empty where the machine has no such program: then the demo has made nothing with it. */
function output(command: string, args: readonly string[]): string {
  try {
    return execFileSync(command, args, { encoding: 'utf8', stdio: ['ignore', 'pipe', 'ignore'] })
  } catch {
    return ''
  }
}
