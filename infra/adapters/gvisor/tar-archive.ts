/**
 * A folder as one file, and back: owners, modes, times, links. In this process, because the usual folder is small and a
 * `tar` command costs more than the work. Sockets and devices are left out: nobody can restore them.
 */
import type { Stats } from 'node:fs'
import {
  chmod,
  lchown,
  link,
  lstat,
  mkdir,
  open,
  readdir,
  readlink,
  symlink,
  utimes,
  type FileHandle,
} from 'node:fs/promises'
import { dirname, join } from 'node:path'
import {
  decodePax,
  decodeTarBlock,
  encodeTarHeader,
  paddingOf,
  TAR_BLOCK,
  type TarHeader,
} from './tar-header.ts'

const CHUNK_BYTES = 1024 * 1024
const PAX_BYTES_MAX = 64 * 1024

/** Writes the content of `folder` into `file`, which is new. */
export async function packFolder(folder: string, file: string): Promise<void> {
  const handle = await open(file, 'wx')
  const target = gathering(handle)
  try {
    await packInto(target, folder, '', new Map())
    await target.write(Buffer.alloc(2 * TAR_BLOCK))
    await target.flush()
  } finally {
    await handle.close()
  }
}

type Target = {
  /** Takes the bytes over: they must not change afterwards. */
  write(bytes: Buffer): Promise<void>
  flush(): Promise<void>
}

/** Many small pieces are one write. */
function gathering(handle: FileHandle): Target {
  let parts: Buffer[] = []
  let bytesHeld = 0
  const flush = async (): Promise<void> => {
    const held = Buffer.concat(parts)
    parts = []
    bytesHeld = 0
    for (let at = 0; at < held.length;) at += (await handle.write(held, at)).bytesWritten
  }
  return {
    flush,
    async write(bytes) {
      parts.push(bytes)
      bytesHeld += bytes.length
      if (bytesHeld >= CHUNK_BYTES) await flush()
    },
  }
}

async function packInto(
  target: Target,
  root: string,
  folder: string,
  linked: Map<string, string>,
): Promise<void> {
  for (const name of (await readdir(join(root, folder))).sort()) {
    const path = folder === '' ? name : `${folder}/${name}`
    const stats = await lstat(join(root, path))
    const header = await headerOf(root, path, stats, linked)
    if (header === undefined) continue
    await target.write(encodeTarHeader(header))
    if (header.kind === 'file') await copyIn(target, join(root, path), header.size)
    if (header.kind === 'folder') await packInto(target, root, path, linked)
  }
}

async function headerOf(
  root: string,
  path: string,
  stats: Stats,
  linked: Map<string, string>,
): Promise<TarHeader | undefined> {
  const { uid, gid } = stats
  const base = {
    path,
    mode: stats.mode & 0o7777,
    uid,
    gid,
    size: 0,
    mtimeS: Math.floor(stats.mtimeMs / 1000),
    link: '',
  }
  if (stats.isDirectory()) return { ...base, path: `${path}/`, kind: 'folder' }
  if (stats.isSymbolicLink()) return { ...base, kind: 'symlink', link: await readlink(join(root, path)) }
  if (!stats.isFile()) return undefined
  const inode = `${stats.dev}:${stats.ino}`
  const first = stats.nlink > 1 ? linked.get(inode) : undefined
  if (first !== undefined) return { ...base, kind: 'hardlink', link: first }
  linked.set(inode, path)
  return { ...base, kind: 'file', size: stats.size }
}

async function copyIn(target: Target, source: string, size: number): Promise<void> {
  const from = await open(source, 'r')
  try {
    for (let left = size; left > 0;) {
      const buffer = Buffer.allocUnsafe(Math.min(left, CHUNK_BYTES))
      const { bytesRead } = await from.read(buffer, 0, buffer.length)
      if (bytesRead === 0) throw new Error(`${source} became shorter while it was read`)
      await target.write(buffer.subarray(0, bytesRead))
      left -= bytesRead
    }
  } finally {
    await from.close()
  }
  if (paddingOf(size) > 0) await target.write(Buffer.alloc(paddingOf(size)))
}

/**
 * Lays what `packFolder` wrote into `folder`. Folders that are there already take the mode and owner of the archive.
 * Throws for a damaged archive, and for a path that leads out of the folder.
 */
export async function unpackFolder(file: string, folder: string): Promise<void> {
  const source = await open(file, 'r')
  const made = new Set(['.'])
  const times: TarHeader[] = []
  try {
    for await (const header of entriesOf(source)) {
      checkPath(header.path, made)
      await lay(source, header, folder)
      if (header.kind === 'folder') made.add(header.path.slice(0, -1))
      if (header.kind === 'folder') times.push(header)
    }
  } finally {
    await source.close()
  }
  // a folder's time changes with what is put into it
  for (const { path, mtimeS } of times.toReversed()) await utimes(join(folder, path), mtimeS, mtimeS)
}

/** Its folder must be of this archive: then no link of the archive can lead elsewhere. */
function checkPath(path: string, made: ReadonlySet<string>): void {
  const parts = path.split('/')
  if (path.startsWith('/') || parts.includes('..') || !made.has(dirname(path))) {
    throw new Error(`the archive has the path "${path}", which leads out of it`)
  }
}

async function* entriesOf(source: FileHandle): AsyncGenerator<TarHeader> {
  let records: ReadonlyMap<string, string> = new Map()
  for (;;) {
    const decoded = decodeTarBlock(await exactly(source, TAR_BLOCK), records)
    if (decoded.kind === 'end') return
    if (decoded.kind === 'pax') {
      if (decoded.size > PAX_BYTES_MAX) throw new Error('a pax record is too long')
      records = decodePax(await exactly(source, decoded.size))
      await exactly(source, paddingOf(decoded.size))
      continue
    }
    records = new Map()
    yield decoded.header
  }
}

async function exactly(source: FileHandle, size: number): Promise<Buffer> {
  const buffer = Buffer.alloc(size)
  const { bytesRead } = size === 0 ? { bytesRead: 0 } : await source.read(buffer, 0, size)
  if (bytesRead !== size) throw new Error('the archive is cut short')
  return buffer
}

async function lay(source: FileHandle, header: TarHeader, folder: string): Promise<void> {
  const path = join(folder, header.path)
  if (header.kind === 'hardlink') return link(join(folder, header.link), path)
  if (header.kind === 'symlink') await symlink(header.link, path)
  if (header.kind === 'folder') await mkdir(path, { recursive: true })
  if (header.kind === 'file') await copyOut(source, path, header.size)
  await lchown(path, header.uid, header.gid)
  // after the owner: a change of owner takes the set-id bits away
  if (header.kind !== 'symlink') await chmod(path, header.mode)
  if (header.kind === 'file') await utimes(path, header.mtimeS, header.mtimeS)
}

async function copyOut(source: FileHandle, path: string, size: number): Promise<void> {
  const to = await open(path, 'wx')
  try {
    for (let left = size; left > 0;) {
      const part = await exactly(source, Math.min(left, CHUNK_BYTES))
      await to.write(part)
      left -= part.length
    }
  } finally {
    await to.close()
  }
  await exactly(source, paddingOf(size))
}
