import { connectNats } from '@torpor/adapter-nats'
import { openReadModel } from '@torpor/adapter-postgres'
import { runPart } from '@torpor/adapter-process'
import { readSettings, systemClock } from '@torpor/contracts'
import { startProjector } from './projector.ts'

await runPart('projector', async ({ note }) => {
  const settings = readSettings(process.env)
  const model = openReadModel({
    url: settings.TORPOR_POSTGRES_URL,
    poolMax: settings.TORPOR_POSTGRES_POOL_MAX,
  })
  await model.migrate()
  if (process.argv.includes('--rebuild')) await model.clear()
  const nats = await connectNats({ url: settings.TORPOR_NATS_URL, name: 'projector', shards: 'existing' })
  const projector = startProjector({ bus: nats.bus, log: nats.log, model, clock: systemClock, note })
  return {
    address: 'projector',
    async close() {
      await projector.close()
      await nats.close()
    },
  }
})
