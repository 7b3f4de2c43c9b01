import type { BigIntStats } from 'node:fs'
import { readdir, readFile, stat } from 'node:fs/promises'
import { join } from 'node:path'
import { manifestSchema } from '@torpor/contracts'
import type { Manifest } from '@torpor/contracts'
import { replaceFile } from '../state/durable-file.ts'
import type { Digests } from './digests.ts'
import { digestOf } from './digests.ts'
import { CHECKPOINT_COMPLETE_FILE, MANIFEST_FILE, UNSEALED_FILE } from './folders.ts'

/** A manifest, the digest of its exact bytes, by which a generation is known everywhere, and the bytes of its files. */
export type SealedManifest = { readonly manifest: Manifest; readonly digest: string; readonly bytes: number }

const NOT_OF_THE_GENERATION = new Set([MANIFEST_FILE, UNSEALED_FILE, CHECKPOINT_COMPLETE_FILE])

/** Every file in `folder`, also those in folders inside, by name: its path there and what it is just now. */
export async function listFiles(
  folder: string,
): Promise<readonly { readonly path: string; readonly stats: BigIntStats }[]> {
  const entries = await readdir(folder, { recursive: true, withFileTypes: true })
  const paths = entries
    .filter((entry) => entry.isFile())
    .map((entry) => join(entry.parentPath, entry.name).slice(folder.length + 1))
    .filter((path) => !NOT_OF_THE_GENERATION.has(path))
    .toSorted()
  return Promise.all(
    paths.map(async (path) => ({ path, stats: await stat(join(folder, path), { bigint: true }) })),
  )
}

/**
 * Writes the manifest, which commits the generation in `folder`. It survives the end of this process; a power cut may take the
 * last seconds of what is on the node only, which the digests then show: the object store is what survives a machine.
 */
export async function sealFolder(folder: string, manifest: Manifest): Promise<SealedManifest> {
  const text = JSON.stringify(manifest)
  replaceFile(join(folder, MANIFEST_FILE), text)
  return sealedOf(Buffer.from(text), manifest)
}

/** The manifest in `folder`; undefined when there is none or it is unreadable: then the generation does not count. */
export async function readSealed(folder: string): Promise<SealedManifest | undefined> {
  const bytes = await readFile(join(folder, MANIFEST_FILE)).catch(() => undefined)
  return bytes === undefined ? undefined : parseSealed(bytes)
}

export function parseSealed(bytes: Uint8Array): SealedManifest | undefined {
  try {
    const manifest = manifestSchema.parse(JSON.parse(Buffer.from(bytes).toString('utf8')))
    return sealedOf(bytes, manifest)
  } catch {
    return undefined
  }
}

/** The first thing in which the files differ from their manifest; undefined when every byte is as it was. */
export async function damageOf(
  folder: string,
  manifest: Manifest,
  digests: Digests,
): Promise<string | undefined> {
  const problems = await Promise.all(
    manifest.files.map(async ({ path, bytes, digest }) => {
      const size = await stat(join(folder, path)).then(
        (found) => found.size,
        () => undefined,
      )
      if (size === undefined) return `${path} is missing`
      if (size !== bytes) return `${path} has ${size} bytes, not ${bytes}`
      return (await digests.ofFile(join(folder, path))) === digest ? undefined : `${path} has other content`
    }),
  )
  return problems.find((problem) => problem !== undefined)
}

const sealedOf = (bytes: Uint8Array, manifest: Manifest): SealedManifest => ({
  manifest,
  digest: digestOf(bytes),
  bytes: manifest.files.reduce((sum, file) => sum + file.bytes, 0),
})
