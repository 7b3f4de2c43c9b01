/** A tar (ustar) of regular files and folders, as a stream of buffers; owner root, a fixed time: same input, same bytes. */
import { createReadStream, statSync } from 'node:fs'

export type TarEntry = {
  /** Relative, at most 100 characters; ends with "/" for a folder. */
  readonly path: string
  readonly mode: number
  /** File to read; absent for a folder. */
  readonly source?: string
}

const BLOCK = 512
const NAME_LENGTH_MAX = 100

export async function* tarOf(entries: readonly TarEntry[]): AsyncGenerator<Buffer> {
  for (const entry of entries) {
    const size = entry.source === undefined ? 0 : statSync(entry.source).size
    yield headerOf(entry, size)
    if (entry.source === undefined) continue
    let read = 0
    for await (const part of createReadStream(entry.source, { highWaterMark: 1024 * 1024 })) {
      const bytes = Buffer.from(part)
      read += bytes.length
      yield bytes
    }
    if (read !== size) throw new Error(`${entry.source} changed while it was read`)
    if (size % BLOCK !== 0) yield Buffer.alloc(BLOCK - (size % BLOCK))
  }
  yield Buffer.alloc(2 * BLOCK)
}

function headerOf({ path, mode, source }: TarEntry, size: number): Buffer {
  if (Buffer.byteLength(path) > NAME_LENGTH_MAX) throw new Error(`${path}: too long a path for this tar`)
  const header = Buffer.alloc(BLOCK)
  const octal = (value: number, at: number, length: number): void => {
    header.write(value.toString(8).padStart(length - 1, '0'), at, length - 1, 'ascii')
  }
  header.write(path, 0, 'utf8')
  octal(mode, 100, 8)
  octal(0, 108, 8)
  octal(0, 116, 8)
  octal(size, 124, 12)
  octal(0, 136, 12)
  header.write('        ', 148, 'ascii')
  header.write(source === undefined ? '5' : '0', 156, 'ascii')
  header.write('ustar\u000000', 257, 'ascii')
  const sum = header.reduce((total, byte) => total + byte, 0)
  header.write(`${sum.toString(8).padStart(6, '0')}\0 `, 148, 'ascii')
  return header
}
