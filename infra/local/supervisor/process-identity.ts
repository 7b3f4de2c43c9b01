import { readFileSync } from 'node:fs'
import { spawnSync } from 'node:child_process'

/** A process is known by its id and the time it started: ids alone are given to others later. */
export type ProcessIdentity = { readonly pid: number; readonly startedAt: string }

const STATE_FIELD = 0
const START_TIME_FIELD = 19

/** @returns the identity of a live process, or nothing where there is none (a zombie is none) */
export function identifyProcess(pid: number): ProcessIdentity | undefined {
  const fields = process.platform === 'linux' ? readStatFields(pid) : readPsFields(pid)
  const startedAt = fields?.[START_TIME_FIELD]
  if (startedAt === undefined || fields?.[STATE_FIELD] === 'Z') return undefined
  return { pid, startedAt }
}

/** @returns whether exactly this process still lives */
export function isAlive(identity: ProcessIdentity): boolean {
  return identifyProcess(identity.pid)?.startedAt === identity.startedAt
}

/** The fields after the command name, which may itself hold spaces and brackets. */
function readStatFields(pid: number): readonly string[] | undefined {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, 'utf8')
    return stat.slice(stat.lastIndexOf(')') + 2).split(' ')
  } catch {
    return undefined
  }
}

function readPsFields(pid: number): readonly string[] | undefined {
  const { status, stdout } = spawnSync('ps', ['-o', 'state=,lstart=', '-p', String(pid)], {
    encoding: 'utf8',
  })
  if (status !== 0) return undefined
  const [state = '', ...started] = stdout.trim().split(/\s+/)
  const fields = Array.from({ length: START_TIME_FIELD + 1 }, () => '')
  fields[STATE_FIELD] = state.charAt(0)
  fields[START_TIME_FIELD] = started.join(' ')
  return fields
}
