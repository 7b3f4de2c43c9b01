import { readFileSync } from 'node:fs'
import { cpus, release, totalmem } from 'node:os'

/** What a figure was measured on. */
export function describeMachine(): string {
  const all = cpus()
  const memoryGib = Math.round(totalmem() / 2 ** 30)
  return `${all.length} × ${all[0]?.model ?? 'unknown'}, ${memoryGib} GiB, Linux ${release()}, load ${load()}`
}

function load(): string {
  try {
    return readFileSync('/proc/loadavg', 'utf8').split(' ')[0] ?? '?'
  } catch {
    return '?'
  }
}
