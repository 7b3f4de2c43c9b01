import { accessSync, constants } from 'node:fs'
import { join } from 'node:path'
import { runCommand } from './run-command.ts'

const REPOSITORY = join(import.meta.dirname, '../../..')

/** The runsc that tests use, or why there is none: `$TORPOR_RUNSC`, the set-up's, or one on PATH. */
export async function gvisorForTests(): Promise<{ readonly runscPath?: string; readonly reason: string }> {
  if (process.platform !== 'linux') return { reason: '(skipped: no Linux)' }
  if (process.getuid?.() !== 0) return { reason: '(skipped: needs root)' }
  const path = (process.env['PATH'] ?? '').split(':').map((folder) => join(folder, 'runsc'))
  const given = process.env['TORPOR_RUNSC']
  const places = [
    ...(given === undefined ? [] : [given]),
    join(REPOSITORY, '.torpor/tools/bin/runsc'),
    ...path,
  ]
  const runscPath = places.find(isProgram)
  if (runscPath === undefined) return { reason: '(skipped: no runsc)' }
  const umoci = await runCommand('umoci', ['--version'], { timeoutMs: 5_000 }).catch(() => undefined)
  return umoci === undefined ? { reason: '(skipped: no umoci)' } : { runscPath, reason: `on ${runscPath}` }
}

function isProgram(file: string): boolean {
  try {
    accessSync(file, constants.X_OK)
    return true
  } catch {
    return false
  }
}
