import { runPart } from '@torpor/adapter-process'
import { LIMITS, fault, readSettings } from '@torpor/contracts'
import { findHierarchy } from '../cgroups/hierarchy.ts'
import { nodeConfig } from '../config.ts'
import { cgroupFreezer, noFreezer } from './freezer.ts'
import { startGuard } from './guard.ts'

await runPart('guard', async ({ note }) => {
  const settings = readSettings(process.env)
  const { cgroup } = nodeConfig(settings)
  const { TORPOR_GUARD_SOCKET: socketPath } = settings
  if (socketPath === '') throw fault('CONFIG_INVALID', 'TORPOR_GUARD_SOCKET', { detail: 'a path is needed' })
  const holdsSandboxes = settings.TORPOR_SANDBOX !== 'simulated' && process.getuid?.() === 0
  const hierarchy = holdsSandboxes ? await findHierarchy() : undefined
  if (hierarchy === undefined) note('info', 'nothing can be frozen here: the gate alone is closed')
  const freezer = hierarchy === undefined ? noFreezer() : cgroupFreezer(hierarchy, cgroup)
  const guard = await startGuard({ socketPath, freezer, fenceMs: LIMITS.fenceMs, log: note })
  return { address: socketPath, close: () => guard.close() }
})
