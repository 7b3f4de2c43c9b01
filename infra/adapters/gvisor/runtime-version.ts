import { readFile } from 'node:fs/promises'
import { arch } from 'node:os'
import type { SandboxRuntime } from '@torpor/contracts'

/** What a snapshot needs of the node that restores it: the same runsc, and a CPU that has what the sandbox saw. */
export async function runtimeVersion(
  platform: string,
  runscVersion: string,
): Promise<SandboxRuntime['version']> {
  const cpu = await readFile('/proc/cpuinfo', 'utf8').catch(() => '')
  const line = (name: string): string => new RegExp(`^${name}\\s*: (.*)$`, 'm').exec(cpu)?.[1] ?? ''
  const attributes = [
    { key: 'runsc.version', value: runscVersion },
    { key: 'runsc.platform', value: platform },
    { key: 'cpu.architecture', value: arch() },
    { key: 'cpu.vendor', value: line('vendor_id') },
    { key: 'cpu.model', value: line('model name') },
  ]
  return { sandboxClass: 'gvisor', version: { attributes } }
}
