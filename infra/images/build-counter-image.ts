/**
 * Builds the demo's image as an OCI layout from what this machine has: its node binary, the libraries which that needs,
 * and `counter/counter.js`. No registry, no compiler, no container tool. The same inputs give the same digests.
 */
import { execFileSync } from 'node:child_process'
import { createHash } from 'node:crypto'
import { createReadStream, createWriteStream, existsSync, statSync } from 'node:fs'
import { mkdir, mkdtemp, readFile, rename, rm, writeFile } from 'node:fs/promises'
import { dirname, join, resolve } from 'node:path'
import { pipeline } from 'node:stream/promises'
import { encodeTarHeader, paddingOf, TAR_BLOCK } from '../adapters/gvisor/tar-header.ts'

export type BuiltImage = {
  /** As a template names it: `oci:<folder>:<tag>`. */
  readonly reference: string
  readonly digest: string
}

type ImageEntry = {
  /** Relative; ends with "/" for a folder. */
  readonly path: string
  readonly mode: number
  /** File to read; absent for a folder. */
  readonly source?: string
}

const TAG = 'latest'
const COUNTER = join(import.meta.dirname, 'counter/counter.js')

/**
 * @param folder where the layout goes; replaced at once when it exists with other content
 * @param nodePath the node binary to put in; this process's own unless given
 * @example await buildCounterImage('.torpor/images/counter') // { reference: 'oci:/…/counter:latest', digest: 'sha256:…' }
 */
export async function buildCounterImage(folder: string, nodePath = process.execPath): Promise<BuiltImage> {
  const target = resolve(folder)
  await mkdir(dirname(target), { recursive: true })
  const work = await mkdtemp(`${target}.new-`)
  try {
    const digest = await writeLayout(work, imageFiles(nodePath))
    await replace(work, target)
    return { reference: `oci:${target}:${TAG}`, digest }
  } finally {
    await rm(work, { recursive: true, force: true })
  }
}

function imageFiles(nodePath: string): readonly ImageEntry[] {
  const libraries = execFileSync('ldd', [nodePath], { encoding: 'utf8' }).match(/\/\S+/g) ?? []
  const files: ImageEntry[] = [
    ...libraries.map((path) => ({ path: path.slice(1), source: path, mode: 0o755 })),
    { path: 'bin/node', source: nodePath, mode: 0o755 },
    { path: 'app/counter.js', source: COUNTER, mode: 0o644 },
  ]
  const folders = ['data', 'dev', 'proc', 'sys', 'tmp', ...files.flatMap(({ path }) => parents(path))]
  const entries: ImageEntry[] = [...new Set(folders)].map((path) => ({
    path: `${path}/`,
    mode: path === 'tmp' ? 0o1777 : 0o755,
  }))
  return [...entries, ...files].sort((a, b) => (a.path < b.path ? -1 : 1))
}

function parents(path: string): readonly string[] {
  const parts = path.split('/').slice(0, -1)
  return parts.map((_, index) => parts.slice(0, index + 1).join('/'))
}

async function writeLayout(work: string, files: readonly ImageEntry[]): Promise<string> {
  await mkdir(join(work, 'blobs/sha256'), { recursive: true })
  const layer = await writeLayer(work, files)
  const config = await writeBlob(work, {
    architecture: process.arch === 'arm64' ? 'arm64' : 'amd64',
    os: 'linux',
    config: { Entrypoint: ['/bin/node', '/app/counter.js'], Env: ['PATH=/bin'], WorkingDir: '/' },
    rootfs: { type: 'layers', diff_ids: [layer.digest] },
  })
  const manifest = await writeBlob(work, {
    schemaVersion: 2,
    mediaType: 'application/vnd.oci.image.manifest.v1+json',
    config: { mediaType: 'application/vnd.oci.image.config.v1+json', ...config },
    layers: [{ mediaType: 'application/vnd.oci.image.layer.v1.tar', ...layer }],
  })
  const entry = {
    mediaType: 'application/vnd.oci.image.manifest.v1+json',
    ...manifest,
    annotations: { 'org.opencontainers.image.ref.name': TAG },
  }
  await writeFile(join(work, 'index.json'), JSON.stringify({ schemaVersion: 2, manifests: [entry] }))
  await writeFile(join(work, 'oci-layout'), JSON.stringify({ imageLayoutVersion: '1.0.0' }))
  return manifest.digest
}

type Blob = { readonly digest: string; readonly size: number }

async function writeLayer(work: string, files: readonly ImageEntry[]): Promise<Blob> {
  const hash = createHash('sha256')
  const file = join(work, 'layer')
  let size = 0
  const counted = async function* (): AsyncGenerator<Buffer> {
    for await (const part of layerOf(files)) {
      hash.update(part)
      size += part.length
      yield part
    }
  }
  await pipeline(counted, createWriteStream(file))
  const hex = hash.digest('hex')
  await rename(file, join(work, 'blobs/sha256', hex))
  return { digest: `sha256:${hex}`, size }
}

/** Owner root, a fixed time: the same files give the same bytes. */
async function* layerOf(files: readonly ImageEntry[]): AsyncGenerator<Buffer> {
  for (const { path, mode, source } of files) {
    const size = source === undefined ? 0 : statSync(source).size
    const kind = source === undefined ? 'folder' : 'file'
    yield encodeTarHeader({ path, kind, mode, uid: 0, gid: 0, size, mtimeS: 0, link: '' })
    if (source === undefined) continue
    for await (const part of createReadStream(source, { highWaterMark: 1024 * 1024 })) yield Buffer.from(part)
    yield Buffer.alloc(paddingOf(size))
  }
  yield Buffer.alloc(2 * TAR_BLOCK)
}

async function writeBlob(work: string, value: object): Promise<Blob> {
  const bytes = Buffer.from(JSON.stringify(value))
  const hex = createHash('sha256').update(bytes).digest('hex')
  await writeFile(join(work, 'blobs/sha256', hex), bytes)
  return { digest: `sha256:${hex}`, size: bytes.length }
}

async function replace(work: string, target: string): Promise<void> {
  const index = join(target, 'index.json')
  const same = existsSync(index) && (await readFile(index)).equals(await readFile(join(work, 'index.json')))
  if (same) return
  await rm(target, { recursive: true, force: true })
  await rename(work, target)
}

if (process.argv[1] === import.meta.filename) {
  const folder = process.argv[2]
  if (folder === undefined) throw new Error('usage: node build-counter-image.ts FOLDER')
  console.log(JSON.stringify(await buildCounterImage(folder)))
}
