import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { systemRandom } from '@torpor/contracts'
import type { SandboxSpec } from '@torpor/contracts'
import { describeSandboxRuntimeLaws } from '@torpor/contracts/laws/sandbox-runtime-laws'
import { openSimulatedRuntime } from './simulated-runtime.ts'

const counter = (sandboxId: string): SandboxSpec => ({
  sandboxId,
  image: 'simulated/counter',
  command: [],
  args: [],
  env: {},
  cpuMilli: 100,
  memoryMib: 64,
  diskMib: 64,
  durableDirs: [{ name: 'data', mountPath: '/data' }],
  workerCgroup: '',
})

describeSandboxRuntimeLaws('simulated', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'torpor-simulated-'))
  const options = { folder: join(folder, 'runtime'), random: systemRandom }
  const runtime = await openSimulatedRuntime(options)
  return {
    runtime,
    counter,
    port: 8080,
    folder,
    async endProcess(_sandboxId, ipAddress) {
      await fetch(`http://${ipAddress}:8080/exit?code=7`, { headers: { connection: 'close' } })
    },
    async reopen() {
      for (const { sandboxId } of await runtime.list()) await runtime.kill(sandboxId, 'killed')
      return openSimulatedRuntime(options)
    },
    close: () => rm(folder, { recursive: true, force: true }),
  }
})
