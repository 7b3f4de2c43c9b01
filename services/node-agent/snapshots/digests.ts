import { readFile, stat } from 'node:fs/promises'
import { Worker } from 'node:worker_threads'
import { Blake3Hasher } from '@napi-rs/blake-hash'

/** Digests of files, `blake3:<hex>`: small ones here, large ones in a thread that is made when the first one comes. */
export interface Digests {
  ofFile(path: string): Promise<string>
  close(): Promise<void>
}

/** Below this a thread costs more than it saves. */
const INLINE_BYTES_MAX = 256 * 1024

export const digestOf = (bytes: Uint8Array): string =>
  `blake3:${new Blake3Hasher().update(bytes).digest('hex')}`

type Answer = { readonly id: number; readonly digest?: string; readonly error?: string }

/** @param niceness of the thread, 0 to 19: 19 takes only what nobody else wants */
export function createDigests(niceness = 0): Digests {
  const waiting = new Map<number, PromiseWithResolvers<string>>()
  let worker: Worker | undefined
  let serial = 0

  const failAll = (error: Error): void => {
    worker = undefined
    for (const { reject } of waiting.values()) reject(error)
    waiting.clear()
  }
  const start = (): Worker => {
    const made = new Worker(new URL('digest-worker.ts', import.meta.url), { workerData: { niceness } })
    made.unref()
    made.on('error', failAll)
    made.on('message', ({ id, digest, error }: Answer) => {
      const done = waiting.get(id)
      waiting.delete(id)
      if (digest === undefined) done?.reject(new Error(error))
      else done?.resolve(`blake3:${digest}`)
      if (waiting.size === 0) made.unref()
    })
    return made
  }
  return {
    async ofFile(path) {
      if ((await stat(path)).size <= INLINE_BYTES_MAX) return digestOf(await readFile(path))
      worker ??= start()
      const id = ++serial
      const done = Promise.withResolvers<string>()
      waiting.set(id, done)
      worker.ref()
      // oxlint-disable-next-line unicorn/require-post-message-target-origin -- a thread has no origin
      worker.postMessage({ id, path })
      return done.promise
    },
    async close() {
      await worker?.terminate()
      failAll(new Error('digests are closed'))
    },
  }
}
