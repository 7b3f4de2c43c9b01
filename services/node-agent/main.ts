import { mkdir, statfs } from 'node:fs/promises'
import { join } from 'node:path'
import { openGvisorRuntime } from '@torpor/adapter-gvisor'
import { busAccess, connectNats } from '@torpor/adapter-nats'
import { runPart } from '@torpor/adapter-process'
import { openSnapshotStore } from '@torpor/adapter-snapshot-store'
import { readSettings, systemClock, systemRandom } from '@torpor/contracts'
import { openSimulatedRuntime } from '@torpor/simulations/world/sandbox/simulated-runtime'
import { startNodeAgent } from './agent.ts'
import { findHierarchy } from './cgroups/hierarchy.ts'
import { linuxCgroups } from './cgroups/linux-cgroups.ts'
import { noCgroups } from './cgroups/worker-cgroups.ts'
import { nodeConfig } from './config.ts'
import { startGate } from './gate/gate.ts'
import { connectGuard } from './membership/guard-link.ts'

await runPart('node-agent', async ({ note }) => {
  const settings = readSettings(process.env)
  const config = nodeConfig(settings)
  await mkdir(config.dataDir, { recursive: true })
  const simulated = settings.TORPOR_SANDBOX === 'simulated'
  const nats = await connectNats({ ...(await busAccess(settings)), name: `node-agent ${config.name}` })
  const runtime = simulated
    ? await openSimulatedRuntime({ folder: join(config.dataDir, 'simulated'), random: systemRandom })
    : await openGvisorRuntime({ ...config.gvisor, onNote: (line) => note('info', line) })
  const hierarchy = simulated ? undefined : await findHierarchy()
  const socket = settings.TORPOR_GUARD_SOCKET
  const guard = socket === '' ? undefined : connectGuard(socket, systemClock, note)
  const gate = await startGate({ listen: settings.TORPOR_LISTEN, clock: systemClock })
  const stop = new AbortController()
  const agent = await startNodeAgent(
    {
      bus: nats.bus,
      runtime,
      gate,
      store: await openSnapshotStore(settings.TORPOR_STORE, settings),
      cgroups: hierarchy === undefined ? noCgroups : linuxCgroups(hierarchy, config.cgroup),
      clock: systemClock,
      random: systemRandom,
      freeBytes: () => statfs(config.dataDir).then(({ bavail, bsize }) => bavail * bsize),
      backlog: (sinceSequence) => nats.nodeCommands(config.name, sinceSequence, stop.signal),
      ...(guard === undefined ? {} : { guard }),
      log: note,
    },
    config,
  )
  return {
    address: gate.address,
    async close() {
      stop.abort()
      await agent.stop()
      await gate.stop()
      guard?.close()
      await runtime.close()
      await nats.close()
    },
  }
})
