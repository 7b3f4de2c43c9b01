import { spawn } from 'node:child_process'
import type { ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { createInterface } from 'node:readline'

/** The demo as a process of its own, as a user runs it: for tests, which see what a user sees. */
export type RunningDemo = {
  /** Everything that it printed so far. */
  text(): string
  /** Resolves when a line holds `part`; rejects when the demo ends first. */
  sees(part: string): Promise<void>
  /** SIGKILL to one of its parts, by the process that the supervisor recorded. False when there is no such record. */
  killPart(name: string): boolean
  /** Ctrl-C. */
  interrupt(): void
  /** Its exit code. */
  ended(): Promise<number>
}

/** Starts `demo` with the given words and data folder. */
export function startDemo(dataFolder: string, words: readonly string[]): RunningDemo {
  const main = join(import.meta.dirname, 'main.ts')
  const child = spawn(process.execPath, [main, '--data', dataFolder, ...words], {
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
  const exit = exitOf(child)
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
    killPart: (name) => {
      const pid = pidOfPart(dataFolder, name)
      if (pid !== undefined) process.kill(pid, 'SIGKILL')
      return pid !== undefined
    },
    interrupt: () => void child.kill('SIGINT'),
    ended: () => exit,
  }
}

async function exitOf(child: ChildProcess): Promise<number> {
  const [code] = (await once(child, 'close')) as [number | null]
  return code ?? -1
}

function pidOfPart(dataFolder: string, name: string): number | undefined {
  try {
    const record = JSON.parse(readFileSync(join(dataFolder, 'run', `${name}.json`), 'utf8')) as {
      pid?: number
    }
    return record.pid
  } catch {
    return undefined
  }
}
