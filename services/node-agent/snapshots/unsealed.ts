import { readFile, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { fault, manifestSchema } from '@torpor/contracts'
import type { Manifest } from '@torpor/contracts'
import { z } from 'zod'
import type { CheckedCopies } from './checked-copies.ts'
import { identityOf } from './checked-copies.ts'
import type { Digests } from './digests.ts'
import { CHECKPOINT_COMPLETE_FILE, UNSEALED_FILE } from './folders.ts'
import type { SealedManifest } from './manifest.ts'
import { listFiles, sealFolder } from './manifest.ts'

/**
 * A generation that is whole on this node's disk and whose bytes nobody hashed yet: what an asynchronous suspend waits for.
 * Until its manifest is there the file `unsealed.json` is its commit mark, and says by which inodes, sizes and times a change
 * of any of its files is found. See docs/decisions/0008-what-a-suspend-waits-for.md.
 */
export type UnsealedImage = {
  readonly manifest: Omit<Manifest, 'files'> & { readonly files: readonly ImageFile[] }
  readonly digest: undefined
  readonly bytes: number
  readonly identity: string
}

type ImageFile = { readonly path: string; readonly bytes: number }

const markSchema = z.strictObject({
  manifest: manifestSchema.extend({
    files: z.array(z.strictObject({ path: z.string(), bytes: z.int().min(0) })),
  }),
  identity: z.string(),
  /** What a power cut left of bytes that nobody hashed cannot be told: the mark counts until the machine starts anew. */
  bootId: z.string(),
})

const readBootId = (): Promise<string> => readFile('/proc/sys/kernel/random/boot_id', 'utf8')

/**
 * Marks the image in `folder` as whole; nobody writes to it any more. The folder does not count where it grew: it is moved to
 * its place afterwards, so a mark that is written in part never counts.
 */
export async function markWhole(folder: string, facts: Omit<Manifest, 'files'>): Promise<UnsealedImage> {
  const [listed, bootId] = await Promise.all([listFiles(folder), readBootId()])
  const files = listed.map(({ path, stats }) => ({ path, bytes: Number(stats.size) }))
  const identity = identityOf(listed.map(({ stats }) => stats))
  const mark = { manifest: { ...facts, files }, identity, bootId }
  await writeFile(join(folder, UNSEALED_FILE), JSON.stringify(mark))
  return unsealedOf(mark)
}

/** What `markWhole` left in `folder`; undefined when that is nothing that counts. */
export async function readUnsealed(folder: string): Promise<UnsealedImage | undefined> {
  try {
    const mark = markSchema.parse(JSON.parse(await readFile(join(folder, UNSEALED_FILE), 'utf8')))
    return mark.bootId === (await readBootId()) ? unsealedOf(mark) : undefined
  } catch {
    return undefined
  }
}

/**
 * The manifest of an unsealed image, every byte read. Writes nothing. Faults SNAPSHOT_DAMAGED when a file is not, before or
 * after it was read, what it was when the image was marked: then its digest would be that of other bytes.
 */
export async function hashImage(
  folder: string,
  image: UnsealedImage,
  world: { readonly digests: Digests; readonly checked: CheckedCopies },
  signal: AbortSignal,
): Promise<Manifest> {
  await expectUntouched(folder, image, world.checked)
  const files: Manifest['files'] = []
  for (const file of image.manifest.files) {
    signal.throwIfAborted()
    files.push({ ...file, digest: await world.digests.ofFile(join(folder, file.path)) })
  }
  await expectUntouched(folder, image, world.checked)
  return { ...image.manifest, files }
}

/** The manifest takes the place of the mark. */
export async function commitSeal(folder: string, manifest: Manifest): Promise<SealedManifest> {
  const sealed = await sealFolder(folder, manifest)
  const marks = [UNSEALED_FILE, CHECKPOINT_COMPLETE_FILE]
  await Promise.all(marks.map((name) => rm(join(folder, name), { force: true })))
  return sealed
}

async function expectUntouched(folder: string, image: UnsealedImage, checked: CheckedCopies): Promise<void> {
  if ((await checked.identify(folder, image.manifest.files)) === image.identity) return
  const { actorUid, generation } = image.manifest
  const detail = 'a file of it changed before it was hashed'
  throw fault('SNAPSHOT_DAMAGED', `${actorUid}/${generation}`, { detail })
}

const unsealedOf = ({ manifest, identity }: Omit<z.infer<typeof markSchema>, 'bootId'>): UnsealedImage => ({
  manifest,
  digest: undefined,
  bytes: manifest.files.reduce((sum, file) => sum + file.bytes, 0),
  identity,
})
