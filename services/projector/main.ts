import { busAccess, connectNats } from '@torpor/adapter-nats'
import { openReadModel } from '@torpor/adapter-postgres'
import { runPart } from '@torpor/adapter-process'
import { readSettings, systemClock } from '@torpor/contracts'
import { startProjector } from './projector.ts'

await runPart('projector', async ({ note }) => {
  const settings = readSettings(process.env)
  const nats = await connectNats({
    ...(await busAccess(settings)),
    name: `projector ${settings.TORPOR_NAME}`.trim(),
    shards: 'existing',
  })
  const model = openReadModel({
    url: settings.TORPOR_POSTGRES_URL,
    poolMax: settings.TORPOR_POSTGRES_POOL_MAX,
  })
  const rebuild = process.argv.includes('--rebuild')
  const projector = startProjector({
    bus: nats.bus,
    log: nats.log,
    model,
    clock: systemClock,
    note,
    rebuild,
  })
  await projector.prepared
  return {
    address: settings.TORPOR_NAME || 'projector',
    async close() {
      await projector.close()
      await nats.close()
    },
  }
})
