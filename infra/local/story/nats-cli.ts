/** The real NATS CLI, as a person types it: words in, what it printed out. */
import { execFile, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { systemClock } from '@torpor/contracts'
import { awaitCondition } from './await-condition.ts'

const ANSWER_MS_MAX = 30_000

export type NatsCli = {
  /** Runs to its end; what it printed. Rejects where it fails. */
  run(...words: readonly string[]): Promise<string>
  /** Runs until it is ended. */
  watch(...words: readonly string[]): Watching
  /** Ends what still watches. */
  close(): Promise<void>
}

export type Watching = {
  printed(): string
  /** Resolves once it has printed `part`; bounded. */
  sees(part: string): Promise<void>
  end(): Promise<void>
}

/** Speaks to the server at `url`, with no configuration of whoever runs the tests. */
export async function natsCli(binary: string, url: string): Promise<NatsCli> {
  const folder = await mkdtemp(join(tmpdir(), 'torpor-nats-cli-'))
  const env = { PATH: process.env['PATH'], HOME: folder, XDG_CONFIG_HOME: folder, NATS_URL: url }
  const watched: Watching[] = []
  return {
    async run(...words) {
      const ran = promisify(execFile)(binary, words, { env, timeout: ANSWER_MS_MAX })
      // With an open standard input it would wait for a message from there.
      ran.child.stdin?.end()
      const { stdout, stderr } = await ran
      return stdout + stderr
    },
    watch(...words) {
      const watching = watch(binary, words, env)
      watched.push(watching)
      return watching
    },
    async close() {
      await Promise.all(watched.map((watching) => watching.end()))
      await rm(folder, { recursive: true, force: true })
    },
  }
}

function watch(binary: string, words: readonly string[], env: NodeJS.ProcessEnv): Watching {
  const child = spawn(binary, words, { env, stdio: ['ignore', 'pipe', 'pipe'] })
  const ended = once(child, 'close')
  let printed = ''
  for (const stream of [child.stdout, child.stderr]) {
    stream.setEncoding('utf8').on('data', (text: string) => void (printed += text))
  }
  return {
    printed: () => printed,
    sees: async (part) => {
      const look = async () => printed.includes(part) || undefined
      await awaitCondition(systemClock, `"${part}" from nats ${words.join(' ')}`, ANSWER_MS_MAX, look)
    },
    async end() {
      child.kill('SIGINT')
      await ended
    },
  }
}
