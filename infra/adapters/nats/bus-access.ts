import { readFile } from 'node:fs/promises'
import type { Settings } from '@torpor/contracts'
import { fault } from '@torpor/contracts'
import type { LinkOptions } from './connect-link.ts'

type BusSettings = Pick<Settings, 'TORPOR_NATS_URL' | 'TORPOR_NATS_USER' | 'TORPOR_NATS_PASSWORD_FILE'>

/**
 * Where the bus is and as whom to connect, from the settings of a part. Fault CONFIG_INVALID where the password cannot be read.
 * @example await connectNats({ ...(await busAccess(readSettings(process.env))), name: 'router' })
 */
export async function busAccess(
  settings: BusSettings,
): Promise<Pick<LinkOptions, 'url' | 'user' | 'password'>> {
  const { TORPOR_NATS_URL: url, TORPOR_NATS_USER: user, TORPOR_NATS_PASSWORD_FILE: file } = settings
  return file === '' ? { url, user } : { url, user, password: await readPassword(file) }
}

async function readPassword(file: string): Promise<string> {
  try {
    return (await readFile(file, 'utf8')).trim()
  } catch (cause) {
    throw fault('CONFIG_INVALID', 'TORPOR_NATS_PASSWORD_FILE', {
      detail: cause instanceof Error ? cause.message : String(cause),
      cause,
    })
  }
}
