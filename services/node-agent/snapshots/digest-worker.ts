import { closeSync, openSync, readSync } from 'node:fs'
import { setPriority } from 'node:os'
import { parentPort, workerData } from 'node:worker_threads'
import { Blake3Hasher } from '@napi-rs/blake-hash'

/** Digests large files off the main thread, so that the gate goes on serving. One request in, one answer out, in order. */
/** Small enough to stay in the cache between the read and the hash: half the time of chunks of a MiB. */
const CHUNK_BYTES = 64 * 1024
const chunk = Buffer.allocUnsafe(CHUNK_BYTES)

const { niceness } = workerData as { readonly niceness: number }
// on Linux this thread only
if (niceness > 0) setPriority(niceness)

parentPort?.on('message', ({ id, path }: { id: number; path: string }) => {
  const answer = { id, ...digestOrError(path) }
  // oxlint-disable-next-line unicorn/require-post-message-target-origin -- a thread has no origin
  parentPort?.postMessage(answer)
})

function digestOrError(path: string): { readonly digest: string } | { readonly error: string } {
  try {
    return { digest: digest(path) }
  } catch (error) {
    return { error: error instanceof Error ? error.message : String(error) }
  }
}

function digest(path: string): string {
  const file = openSync(path, 'r')
  const hasher = new Blake3Hasher()
  try {
    for (;;) {
      const bytes = readSync(file, chunk, 0, CHUNK_BYTES, null)
      if (bytes === 0) return hasher.digest('hex')
      hasher.update(chunk.subarray(0, bytes))
    }
  } finally {
    closeSync(file)
  }
}
