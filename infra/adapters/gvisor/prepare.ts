/** Makes a place for an actor: a created sandbox with its files; nothing of it runs. */
import { existsSync } from 'node:fs'
import { readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { fault, type PreparedSandbox, type SandboxSpec } from '@torpor/contracts'
import { z } from 'zod'
import type { SandboxShape } from './bundle.ts'
import type { Image } from './images.ts'
import { forget, newSandbox, type Context, type Sandbox } from './sandbox.ts'
import { nodeCgroup } from './slot-maker.ts'
import type { SlotRecord } from './slot.ts'
import { unpackVolumes } from './volumes.ts'

/** File of a generation that says what it was made with. */
const ABOUT_FILE = 'sandbox.json'
const aboutSchema = z.object({ imageDigest: z.string() })

export const writeAbout = (folder: string, { imageDigest }: SlotRecord): Promise<void> =>
  writeFile(join(folder, ABOUT_FILE), JSON.stringify({ imageDigest }))

/** @param folder generation whose files it begins with; absent: those of the image alone */
export async function prepare(
  context: Context,
  spec: SandboxSpec,
  folder?: string,
): Promise<PreparedSandbox> {
  const { networks, folders, slots, sandboxes } = context
  const { sandboxId } = spec
  const there = sandboxes.get(sandboxId)
  if (there !== undefined)
    return { sandboxId, ipAddress: networks.adopt(there.record.networkIndex).ipAddress }
  const shape: SandboxShape = { ...spec, image: await imageOf(context, spec, folder) }
  const slot = await slots.take(shape)
  if (folder !== undefined) slots.hold(slot)
  const sandbox = book(context, slot, spec, shape)
  try {
    if (folder !== undefined) await unpackVolumes(folder, folders.folderOf(slot.id))
  } catch (cause) {
    await forget(context, sandboxId, sandbox)
    throw cause
  }
  sandboxes.set(sandboxId, sandbox)
  return { sandboxId, ipAddress: networks.adopt(slot.networkIndex).ipAddress }
}

function book(context: Context, slot: SlotRecord, spec: SandboxSpec, shape: SandboxShape): Sandbox {
  const { sandboxId, cpuMilli, memoryMib, workerCgroup } = spec
  const parent = workerCgroup === '' ? nodeCgroup(context.options) : workerCgroup
  const cgroup = `${parent}/${slot.id}`
  const record: SlotRecord = { ...slot, state: 'prepared', sandboxId, cpuMilli, memoryMib, cgroup }
  // the record first: an agent that dies in between finds the processes in one of the two groups
  context.folders.write(record)
  return newSandbox(record, shape)
}

/** A snapshot needs the very image it was made with, whatever its tag names today. */
async function imageOf({ images }: Context, spec: SandboxSpec, folder: string | undefined): Promise<Image> {
  const digest = folder === undefined ? undefined : await aboutDigest(folder)
  if (digest === undefined) return images.pull(spec.image)
  const image = (await images.byDigest(digest)) ?? (await images.pull(spec.image))
  if (image.digest === digest) return image
  throw fault('IMAGE_UNKNOWN', spec.image, { detail: `its snapshot needs ${digest}, which is not here` })
}

async function aboutDigest(folder: string): Promise<string | undefined> {
  const file = join(folder, ABOUT_FILE)
  return existsSync(file)
    ? aboutSchema.parse(JSON.parse(await readFile(file, 'utf8'))).imageDigest
    : undefined
}
