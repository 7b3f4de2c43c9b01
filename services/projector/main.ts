import { readFile } from 'node:fs/promises'
import { connectNats } from '@torpor/adapter-nats'
import { openReadModel } from '@torpor/adapter-postgres'
import { runPart } from '@torpor/adapter-process'
import { readSettings, systemClock } from '@torpor/contracts'
import { startProjector } from './projector.ts'

await runPart('projector', async ({ note }) => {
  const settings = readSettings(process.env)
  const passwordFile = settings.TORPOR_NATS_PASSWORD_FILE
  const nats = await connectNats({
    url: settings.TORPOR_NATS_URL,
    user: settings.TORPOR_NATS_USER,
    password: passwordFile === '' ? '' : (await readFile(passwordFile, 'utf8')).trim(),
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
