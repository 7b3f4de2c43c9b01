import { mkdirSync } from 'node:fs'
import path from 'node:path'
import type { PartDefinition } from './part.ts'

export type ObjectStorePartOptions = {
  readonly binary: string
  readonly folder: string
  readonly port: number
  readonly accessKey: string
  readonly secretKey: string
}

/** A real S3 server on files, for tests and benchmarks. Its folder must be on a file system with user attributes. */
export function objectStorePart(options: ObjectStorePartOptions): PartDefinition {
  const objects = path.join(options.folder, 'objects')
  mkdirSync(objects, { recursive: true })
  const listen = `127.0.0.1:${options.port}`
  return {
    name: 'object-store',
    command: options.binary,
    args: ['--port', listen, '--quiet', 'posix', objects],
    env: { ROOT_ACCESS_KEY: options.accessKey, ROOT_SECRET_KEY: options.secretKey },
    readyWhen: { kind: 'http', url: `http://${listen}/` },
  }
}
