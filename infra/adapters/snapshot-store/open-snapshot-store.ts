import { fileURLToPath } from 'node:url'
import { openFileStore } from '@torpor/adapter-file-store'
import { openS3Store } from '@torpor/adapter-s3'
import type { Settings, SnapshotStore } from '@torpor/contracts'
import { fault } from '@torpor/contracts'

/**
 * Opens the store that a URL names: `file:///FOLDER` or `s3://BUCKET/PREFIX`. Credentials of S3 are no settings of ours:
 * the SDK finds them in the environment, in its file, or on the machine.
 * Faults: CONFIG_INVALID for another URL, STORE_UNAVAILABLE when the store cannot be used.
 * @example const store = await openSnapshotStore(settings.TORPOR_STORE, settings)
 */
export async function openSnapshotStore(
  url: string,
  settings: Pick<Settings, 'TORPOR_S3_ENDPOINT' | 'TORPOR_S3_REGION'>,
): Promise<SnapshotStore> {
  const parsed = URL.parse(url)
  if (parsed?.protocol === 'file:' && parsed.host === '' && parsed.pathname.length > 1) {
    return openFileStore(fileURLToPath(parsed))
  }
  if (parsed?.protocol === 's3:' && parsed.hostname !== '') {
    const endpoint = settings.TORPOR_S3_ENDPOINT
    return openS3Store({
      bucket: parsed.hostname,
      prefix: decodeURIComponent(parsed.pathname).replace(/^\/+|\/+$/g, ''),
      region: settings.TORPOR_S3_REGION,
      ...(endpoint === '' ? {} : { endpoint }),
    })
  }
  throw fault('CONFIG_INVALID', `TORPOR_STORE ${JSON.stringify(url)}`, {
    detail: 'use file:///FOLDER or s3://BUCKET/PREFIX',
  })
}
