import { accessSync, constants } from 'node:fs'
import { join } from 'node:path'
import { runCommand } from './run-command.ts'
import { isOld, versionOf } from './runsc.ts'

const REPOSITORY = join(import.meta.dirname, '../../..')

export type GvisorForTests = {
  /** `$TORPOR_RUNSC`, the set-up's, or one on PATH; absent when tests of gVisor cannot run. */
  readonly runscPath?: string
  /** For the name of the tests: which runsc, or why none. */
  readonly reason: string
  readonly hasPacketFilter: boolean
  /** A build that is known to fail some of them; those are left out. */
  readonly isOld: boolean
}

export async function gvisorForTests(): Promise<GvisorForTests> {
  const hasPacketFilter = await starts('iptables', '--version')
  const no = (reason: string): GvisorForTests => ({
    reason: `(skipped: ${reason})`,
    hasPacketFilter,
    isOld: false,
  })
  if (process.platform !== 'linux') return no('no Linux')
  if (process.getuid?.() !== 0) return no('needs root')
  const path = (process.env['PATH'] ?? '').split(':').map((folder) => join(folder, 'runsc'))
  const given = process.env['TORPOR_RUNSC']
  const places = [
    ...(given === undefined ? [] : [given]),
    join(REPOSITORY, '.torpor/tools/bin/runsc'),
    ...path,
  ]
  const runscPath = places.find(isProgram)
  if (runscPath === undefined) return no('no runsc')
  if (!(await starts('umoci', '--version'))) return no('no umoci')
  const version = await versionOf(runscPath)
  return { runscPath, reason: `on runsc ${version}`, hasPacketFilter, isOld: isOld(version) }
}

async function starts(file: string, argument: string): Promise<boolean> {
  const result = await runCommand(file, [argument], { timeoutMs: 5_000 }).catch(() => undefined)
  return result?.code === 0
}

function isProgram(file: string): boolean {
  try {
    accessSync(file, constants.X_OK)
    return true
  } catch {
    return false
  }
}
