import { hostname } from 'node:os'
import { busAccess, connectNats } from '@torpor/adapter-nats'
import { runPart } from '@torpor/adapter-process'
import { readSettings, systemClock, systemRandom } from '@torpor/contracts'
import { startRouter } from './router.ts'
import { capacityOverBus, wakeOverBus } from './wake-over-bus.ts'

await runPart('router', async () => {
  const settings = readSettings(process.env)
  const nats = await connectNats({
    ...(await busAccess(settings)),
    name: `router ${settings.TORPOR_NAME || `${hostname()}-${process.pid}`}`,
  })
  const router = await startRouter({
    listen: settings.TORPOR_LISTEN,
    domain: settings.TORPOR_DOMAIN,
    wake: wakeOverBus(nats.bus, systemClock),
    watchCapacity: capacityOverBus(nats.bus),
    clock: systemClock,
    random: systemRandom,
    limits: { parkMs: settings.TORPOR_PARK_MS, routeTimeoutMs: settings.TORPOR_ROUTE_TIMEOUT_MS },
  })
  return {
    address: router.url,
    async close() {
      await router.stop()
      await nats.close()
    },
  }
})
