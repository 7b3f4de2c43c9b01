import { mkdir, readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import type { CounterState } from './counter-process.ts'

/** Names of what a simulated checkpoint writes: as a real one, memory and files apart. */
const FILES = ['memory.json', 'rootfs.json', 'volumes.json'] as const

/** Tells a restarted agent that the checkpoint in this folder had ended well before the agent died. */
const COMPLETE_MARKER = 'checkpoint-complete'

/** Writes the counter's state into `folder`, the marker last; returns the names of the files that make the generation. */
export async function writeGeneration(folder: string, state: CounterState): Promise<readonly string[]> {
  await mkdir(folder, { recursive: true })
  const texts = [
    JSON.stringify({ memoryCount: state.memoryCount, answers: state.answers }),
    JSON.stringify({ rootfsCount: state.rootfsCount }),
    JSON.stringify({ fileCount: state.fileCount }),
  ]
  await Promise.all(FILES.map((file, index) => writeFile(join(folder, file), texts[index] ?? '')))
  await writeFile(join(folder, COMPLETE_MARKER), '')
  return FILES
}

/** The reverse of {@link writeGeneration}; rejects when a file is missing or is no JSON. */
export async function readGeneration(folder: string): Promise<CounterState> {
  const parts = await Promise.all(FILES.map((file) => readFile(join(folder, file), 'utf8')))
  return Object.assign({}, ...parts.map((part) => JSON.parse(part))) as CounterState
}
