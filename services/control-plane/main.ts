import { hostname } from 'node:os'
import { busAccess, connectNats } from '@torpor/adapter-nats'
import { readSettings, systemClock, systemRandom } from '@torpor/contracts'
import { runPart } from '@torpor/adapter-process'
import { startControlPlane } from './control-plane.ts'

await runPart('control-plane', async ({ note }) => {
  const settings = readSettings(process.env)
  const name = settings.TORPOR_NAME || `${hostname()}-${process.pid}`
  const nats = await connectNats({
    ...(await busAccess(settings)),
    name: `control-plane ${name}`,
    shards: settings.TORPOR_SHARDS,
    replicas: settings.TORPOR_BUS_REPLICAS,
  })
  const plane = await startControlPlane({
    name,
    version: '0.1.0',
    bus: nats.bus,
    log: nats.log,
    leases: nats.leases,
    durableCommands: nats.durableCommands,
    clock: systemClock,
    random: systemRandom,
    note,
  })
  return {
    address: name,
    async close() {
      await plane.close()
      await nats.close()
    },
  }
})
