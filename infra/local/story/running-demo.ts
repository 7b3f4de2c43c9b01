import { spawn } from 'node:child_process'
import type { ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { identifyProcess, isAlive } from '../supervisor/process-identity.ts'
import type { ProcessIdentity } from '../supervisor/process-identity.ts'
import { waitUntil } from '../supervisor/wait-until.ts'

/** How long a killed part may take to be there again, and a killed process to be gone. */
const PART_BACK_MS_MAX = 60_000
const GONE_MS_MAX = 10_000

/** The demo as a process of its own, as a user runs it: for tests, which see what a user sees. */
export type RunningDemo = {
  /** Everything that it printed so far. */
  text(): string
  /** Resolves when a line holds `part`; rejects when the demo ends first. */
  sees(part: string): Promise<void>
  /**
   * SIGKILL to the process of one of its parts that lives now, or to the next one where the last was killed already. Resolves
   * with its id when that very process is gone; rejects where none comes to be.
   */
  killPart(name: string): Promise<number>
  /** SIGKILL to the process that was started here: what the demo itself runs below. */
  killStarter(): void
  /** SIGKILL to the demo itself; its parts are left behind. Resolves when it is gone. */
  kill(): Promise<void>
  /** Ctrl-C. */
  interrupt(): void
  /** Its exit code. */
  ended(): Promise<number>
}

const MAIN = [join(import.meta.dirname, 'main.ts')]
/** What `npm run demo` runs. */
export const ENTRY = [join(import.meta.dirname, '..', 'entry.mjs'), 'demo']

/** Starts `demo` with the given words and data folder. */
export function startDemo(
  dataFolder: string,
  words: readonly string[],
  program: readonly string[] = MAIN,
): RunningDemo {
  const child = spawn(process.execPath, [...program, '--data', dataFolder, ...words], {
    stdio: ['ignore', 'pipe', 'pipe'],
    env: Object.fromEntries(Object.entries(process.env).filter(([name]) => !name.startsWith('VITEST'))),
  })
  const lines: string[] = []
  const listeners = new Set<(line: string) => void>()
  for (const stream of [child.stdout, child.stderr]) {
    createInterface({ input: stream }).on('line', (line) => {
      lines.push(line)
      for (const listener of listeners) listener(line)
    })
  }
  const exit = codeAt('close', child)
  const gone = codeAt('exit', child)
  return {
    text: () => lines.join('\n'),
    sees: (part) =>
      new Promise((resolve, reject) => {
        const done = (line: string): void => {
          if (!line.includes(part)) return
          listeners.delete(done)
          resolve()
        }
        listeners.add(done)
        for (const line of lines) done(line)
        void exit.then((code) => reject(new Error(`the demo ended with ${code}:\n${lines.join('\n')}`)))
      }),
    killPart: (name) => killLiving(join(dataFolder, 'run', `${name}.json`), name),
    killStarter: () => void child.kill('SIGKILL'),
    kill: async () => {
      await killLiving(join(dataFolder, 'lock'), 'the demo')
      await gone
    },
    interrupt: () => void child.kill('SIGINT'),
    ended: () => exit,
  }
}

/** `close` comes when all of its output was read, and never while something that it left behind holds that open. */
async function codeAt(end: 'close' | 'exit', child: ChildProcess): Promise<number> {
  const [code] = (await once(child, end)) as [number | null]
  return code ?? -1
}

async function killLiving(file: string, name: string): Promise<number> {
  let found: ProcessIdentity | undefined
  const lives = (): boolean => {
    const written = identityIn(file)
    found = written !== undefined && isAlive(written) ? written : undefined
    return found !== undefined
  }
  await waitUntil(lives, PART_BACK_MS_MAX)
  const killed = found
  if (killed === undefined) throw new Error(`${name} does not live: ${file}`)
  process.kill(killed.pid, 'SIGKILL')
  if (await waitUntil(() => identifyProcess(killed.pid)?.startedAt !== killed.startedAt, GONE_MS_MAX)) {
    return killed.pid
  }
  throw new Error(`${name}, process ${killed.pid}, outlived its SIGKILL`)
}

/** What the demo wrote down about one of its processes. */
function identityIn(file: string): ProcessIdentity | undefined {
  try {
    return JSON.parse(readFileSync(file, 'utf8')) as ProcessIdentity
  } catch {
    return undefined
  }
}
