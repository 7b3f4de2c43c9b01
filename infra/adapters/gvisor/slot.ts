/**
 * A slot: a created sandbox with its network, bundle, control group and log, first without an actor ("ahead"), then of
 * one actor, never of a second. What an agent that starts anew must know of it lies in `slot.json`.
 */
import { closeSync, openSync, renameSync, writeFileSync } from 'node:fs'
import { mkdir, open, readFile, readdir, rm, stat, truncate } from 'node:fs/promises'
import { join } from 'node:path'
import { z } from 'zod'
import { GVISOR_LIMITS } from './options.ts'

const exitSchema = z.object({
  reason: z.enum(['exited', 'memory', 'killed']),
  exitCode: z.number().exactOptional(),
  message: z.string(),
})

const recordSchema = z.object({
  /** Id of the container; new for each slot. */
  id: z.string(),
  state: z.enum(['ahead', 'prepared', 'running', 'ended']),
  sandboxId: z.string().optional(),
  networkIndex: z.number(),
  /** Control group that holds its processes now. */
  cgroup: z.string(),
  shapeKey: z.string(),
  imageDigest: z.string(),
  hasVolumes: z.boolean(),
  cpuMilli: z.number().optional(),
  memoryMib: z.number(),
  exit: exitSchema.optional(),
})

export type SlotRecord = Readonly<z.infer<typeof recordSchema>>

export type SlotFolders = {
  folderOf(id: string): string
  /** Makes the folder and opens its log; the caller closes the descriptor. */
  make(id: string): Promise<number>
  write(record: SlotRecord): void
  all(): Promise<readonly SlotRecord[]>
  remove(id: string): Promise<void>
  /** Folders without a readable record: an agent died while it made them. */
  removeBroken(): Promise<void>
  logTail(id: string, linesMax: number): Promise<readonly string[]>
  /** Cuts a log that grew too long; the process goes on writing to it. */
  boundLog(id: string): Promise<void>
}

export function slotFolders(stateDir: string): SlotFolders {
  const home = join(stateDir, 'slots')
  const folderOf = (id: string): string => join(home, id)
  const read = async (id: string): Promise<SlotRecord | undefined> => {
    const text = await readFile(join(folderOf(id), 'slot.json'), 'utf8').catch(() => 'null')
    return recordSchema.safeParse(JSON.parse(text)).data
  }
  const names = (): Promise<string[]> => readdir(home).catch(() => [])
  const logFile = (id: string): string => join(folderOf(id), 'log')
  return {
    folderOf,
    make: async (id) => {
      await mkdir(folderOf(id), { recursive: true })
      return openSync(logFile(id), 'a')
    },
    // at once, since it stands in the way of a wake: the four turns of an asynchronous one take longer than the file
    write: (record) => {
      const file = join(folderOf(record.id), 'slot.json')
      writeFileSync(`${file}.new`, JSON.stringify(record))
      renameSync(`${file}.new`, file)
    },
    all: async () => {
      const records = await Promise.all((await names()).map(read))
      return records.filter((record) => record !== undefined)
    },
    remove: (id) => rm(folderOf(id), { recursive: true, force: true }),
    removeBroken: async () => {
      for (const id of await names())
        if ((await read(id)) === undefined) await rm(folderOf(id), { recursive: true })
    },
    logTail: async (id, linesMax) => {
      const lines = (await tailOf(logFile(id))).split('\n')
      return lines.slice(0, lines.at(-1) === '' ? -1 : undefined).slice(-linesMax)
    },
    boundLog: async (id) => {
      const { size } = await stat(logFile(id)).catch(() => ({ size: 0 }))
      if (size > GVISOR_LIMITS.logBytesMax) await truncate(logFile(id), 0)
    },
  }
}

export const closeLog = (descriptor: number): void => closeSync(descriptor)

async function tailOf(file: string): Promise<string> {
  const handle = await open(file, 'r').catch(() => undefined)
  if (handle === undefined) return ''
  try {
    const { size } = await handle.stat()
    const from = Math.max(0, size - GVISOR_LIMITS.logTailBytes)
    const buffer = Buffer.alloc(size - from)
    const { bytesRead } = await handle.read(buffer, 0, buffer.length, from)
    return buffer.toString('utf8', 0, bytesRead)
  } finally {
    await handle.close()
  }
}
