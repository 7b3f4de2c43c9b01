/**
 * Images: references to OCI images, unpacked once into `images/<digest>/rootfs`, shared by all sandboxes, which write
 * over it and never into it. A folder of an image appears by a rename, complete or not at all.
 */
import { createHash } from 'node:crypto'
import { existsSync } from 'node:fs'
import { mkdir, mkdtemp, readFile, rename, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { fault } from '@torpor/contracts'
import { z } from 'zod'
import { GVISOR_LIMITS } from './options.ts'
import { runCommand } from './run-command.ts'

export type Image = {
  /** `sha256:<hex>` of the manifest. */
  readonly digest: string
  readonly rootfs: string
  readonly entrypoint: readonly string[]
  readonly cmd: readonly string[]
  readonly env: readonly string[]
  readonly cwd: string
  readonly user: { readonly uid: number; readonly gid: number; readonly additionalGids?: readonly number[] }
}

export type Images = {
  /** Fetches and unpacks what is missing. Faults IMAGE_UNKNOWN, IMAGE_INVALID. */
  pull(reference: string): Promise<Image>
  /** An image by its digest, if this node has it: what a snapshot was made with. */
  byDigest(digest: string): Promise<Image | undefined>
}

const indexSchema = z.object({
  manifests: z.array(
    z.object({ digest: z.string(), annotations: z.record(z.string(), z.string()).optional() }),
  ),
})
const manifestSchema = z.object({ config: z.object({ digest: z.string() }) })
const strings = z.array(z.string()).nullish()
const configSchema = z.object({
  config: z
    .object({ Entrypoint: strings, Cmd: strings, Env: strings, WorkingDir: z.string().optional() })
    .optional(),
})
const runtimeSpecSchema = z.object({
  process: z.object({
    user: z.object({ uid: z.number(), gid: z.number(), additionalGids: z.array(z.number()).exactOptional() }),
  }),
})
const imageSchema: z.ZodType<Omit<Image, 'rootfs'>> = z.object({
  digest: z.string(),
  entrypoint: z.array(z.string()),
  cmd: z.array(z.string()),
  env: z.array(z.string()),
  cwd: z.string(),
  user: runtimeSpecSchema.shape.process.shape.user,
})

type Layout = { readonly folder: string; readonly tag: string }

export function openImages(stateDir: string): Images {
  const home = join(stateDir, 'images')
  const folderOf = (digest: string): string => join(home, digest.replace(':', '-'))
  const running = new Map<string, Promise<Image>>()
  /** An image never changes. */
  const known = new Map<string, Image>()

  const byDigest = async (digest: string): Promise<Image | undefined> => {
    const before = known.get(digest)
    if (before !== undefined) return before
    const file = join(folderOf(digest), 'image.json')
    const text = await readFile(file, 'utf8').catch(() => undefined)
    if (text === undefined) return undefined
    const image = { ...imageSchema.parse(JSON.parse(text)), rootfs: join(folderOf(digest), 'rootfs') }
    known.set(digest, image)
    return image
  }
  const unpacked = async (reference: string, layout: Layout): Promise<Image> => {
    const digest = await manifestDigest(reference, layout)
    return (await byDigest(digest)) ?? unpack(reference, layout, digest, folderOf(digest), home)
  }
  const pull = async (reference: string): Promise<Image> => {
    await mkdir(home, { recursive: true })
    const local = localLayout(reference)
    if (local !== undefined) return unpacked(reference, local)
    const nameFile = join(home, `reference-${createHash('sha256').update(reference).digest('hex')}`)
    const digest = await readFile(nameFile, 'utf8').catch(() => undefined)
    const image = digest === undefined ? undefined : await byDigest(digest)
    if (image !== undefined) return image
    const fetched = await fetchLayout(reference, home)
    try {
      const fresh = await unpacked(reference, fetched)
      await writeFile(nameFile, fresh.digest)
      return fresh
    } finally {
      await rm(fetched.folder, { recursive: true, force: true })
    }
  }
  return {
    byDigest,
    // one flight per reference: two templates may name the same image at the same time
    pull: (reference) => {
      const flight = running.get(reference) ?? pull(reference).finally(() => running.delete(reference))
      running.set(reference, flight)
      return flight
    },
  }
}

/** `oci:<folder>:<tag>`: an OCI layout on this node. */
function localLayout(reference: string): Layout | undefined {
  const match = /^oci:(.+?)(?::([^:/]+))?$/.exec(reference)
  const folder = match?.[1]
  return folder === undefined ? undefined : { folder, tag: match?.[2] ?? 'latest' }
}

async function manifestDigest(reference: string, { folder, tag }: Layout): Promise<string> {
  const text = await readFile(join(folder, 'index.json'), 'utf8').catch((cause: unknown) => {
    throw fault('IMAGE_UNKNOWN', reference, { detail: `${folder} is no OCI layout`, cause })
  })
  const index = indexSchema.safeParse(parseJson(text))
  if (!index.success) throw fault('IMAGE_INVALID', reference, { detail: 'its index.json is damaged' })
  const named = index.data.manifests.find(
    ({ annotations }) => annotations?.['org.opencontainers.image.ref.name'] === tag,
  )
  if (named === undefined) throw fault('IMAGE_UNKNOWN', reference, { detail: `no tag ${tag} in ${folder}` })
  return named.digest
}

async function fetchLayout(reference: string, home: string): Promise<Layout> {
  const folder = await mkdtemp(join(home, 'fetch-'))
  const source = reference.includes('://') ? reference : `docker://${reference}`
  const args = ['--insecure-policy', 'copy', source, `oci:${folder}:fetched`]
  const result = await runTool('skopeo', args, reference)
  if (result.code === 0) return { folder, tag: 'fetched' }
  await rm(folder, { recursive: true, force: true })
  throw fault('IMAGE_UNKNOWN', reference, { detail: lastLine(result.stderr) })
}

async function unpack(
  reference: string,
  layout: Layout,
  digest: string,
  target: string,
  home: string,
): Promise<Image> {
  const settings = await imageSettings(reference, layout.folder, digest)
  const bundle = await mkdtemp(join(home, 'unpack-'))
  try {
    const image = `${layout.folder}:${layout.tag}`
    const result = await runTool('umoci', ['unpack', '--image', image, bundle], reference)
    if (result.code !== 0) throw fault('IMAGE_INVALID', reference, { detail: lastLine(result.stderr) })
    const spec = runtimeSpecSchema.parse(parseJson(await readFile(join(bundle, 'config.json'), 'utf8')))
    const record = { digest, ...settings, user: spec.process.user }
    await writeFile(join(bundle, 'image.json'), JSON.stringify(record))
    await rename(bundle, target).catch((cause: unknown) => {
      if (!existsSync(target)) throw cause
    })
    return { ...record, rootfs: join(target, 'rootfs') }
  } finally {
    await rm(bundle, { recursive: true, force: true })
  }
}

async function imageSettings(
  reference: string,
  folder: string,
  digest: string,
): Promise<Omit<Image, 'digest' | 'rootfs' | 'user'>> {
  const blob = async (name: string): Promise<unknown> => {
    const text = await readFile(join(folder, 'blobs', name.replace(':', '/')), 'utf8').catch(
      (cause: unknown) => {
        throw fault('IMAGE_INVALID', reference, { detail: `its blob ${name} is missing`, cause })
      },
    )
    return parseJson(text)
  }
  const manifest = manifestSchema.safeParse(await blob(digest))
  if (!manifest.success) throw fault('IMAGE_INVALID', reference, { detail: 'its manifest is damaged' })
  const parsed = configSchema.safeParse(await blob(manifest.data.config.digest))
  if (!parsed.success) throw fault('IMAGE_INVALID', reference, { detail: 'its configuration is damaged' })
  const config = parsed.data.config
  return {
    entrypoint: config?.Entrypoint ?? [],
    cmd: config?.Cmd ?? [],
    env: config?.Env ?? [],
    cwd: config?.WorkingDir === undefined || config.WorkingDir === '' ? '/' : config.WorkingDir,
  }
}

async function runTool(
  tool: string,
  args: readonly string[],
  reference: string,
): Promise<{ readonly code: number; readonly stderr: string }> {
  return runCommand(tool, args, { timeoutMs: GVISOR_LIMITS.imageTimeoutMs }).catch((cause: unknown) => {
    throw fault('SETUP_INCOMPLETE', reference, { detail: `${tool} cannot be started`, cause })
  })
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}

const lastLine = (text: string): string => (text.trim().split('\n').at(-1) ?? '').slice(0, 300)
