import { dirname, join } from 'node:path'
import { SETTINGS } from '@torpor/contracts'
import type { World } from './world.ts'

/** Where the bus is, and who said so. */
export type Server = { readonly url: string; readonly from: string; readonly router?: string }

/** Where a running local stack writes its addresses, from the folder that it was started in. */
const ADDRESSES_FILE = join('.torpor', 'data', 'run', 'addresses.json')

/** In this order: `--server`, TORPOR_NATS_URL, the local stack that runs in this folder or one above, the default. */
export async function findServer(world: World, flag: string | undefined): Promise<Server> {
  if (flag !== undefined) return { url: flag, from: '--server' }
  const fromEnvironment = world.environment['TORPOR_NATS_URL']
  if (fromEnvironment) return { url: fromEnvironment, from: 'TORPOR_NATS_URL' }
  return (
    (await findLocalStack(world)) ?? {
      url: SETTINGS.TORPOR_NATS_URL.schema.parse(undefined),
      from: 'default',
    }
  )
}

async function findLocalStack(world: World): Promise<Server | undefined> {
  for (let folder = world.folder; ; folder = dirname(folder)) {
    const file = join(folder, ADDRESSES_FILE)
    const addresses = await world.readFile(file).then(parseAddresses, () => undefined)
    if (addresses !== undefined) return { ...addresses, from: file }
    if (dirname(folder) === folder) return undefined
  }
}

function parseAddresses(text: string): { url: string; router?: string } | undefined {
  const { nats, router } = JSON.parse(text) as { nats?: unknown; router?: unknown }
  if (typeof nats !== 'string') return undefined
  return { url: nats, ...(typeof router === 'string' ? { router } : {}) }
}
