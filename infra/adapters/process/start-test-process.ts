/**
 * A real program of a test's own: on a free port, in a temporary folder. Started when it resolves, gone with its folder after
 * `stop`; in between it can be killed and started again on the same folder and port.
 */
import type { ChildProcess } from 'node:child_process'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync } from 'node:fs'
import { mkdtemp, rm } from 'node:fs/promises'
import { connect, createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { delimiter, join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'

const READY_MS_MAX = 30_000
const POLL_MS = 20
const ANSWER_MS_MAX = 1_000
const OUTPUT_CHARACTERS_KEPT = 4_000

export type TestPlace = {
  /** Temporary, of this process alone. */
  readonly folder: string
  /** Of the loopback; nothing listened on it a moment ago. */
  readonly port: number
}

export type TestProgram = {
  /** For the folder and the errors. */
  readonly name: string
  /** Absent: a free one. */
  readonly port?: number | undefined
  /** Makes what the program needs in the folder; says how it is started. */
  prepare(place: TestPlace): Promise<TestCommand>
  /** Asked again and again until it says yes. */
  isReady(place: TestPlace, output: string): boolean | Promise<boolean>
  /** What ends it as a crash does, its children with it. SIGKILL unless said. */
  readonly killSignal?: NodeJS.Signals
}

export type TestCommand = {
  readonly file: string
  readonly args: readonly string[]
  readonly env?: Readonly<Record<string, string>>
  readonly cwd?: string
  readonly uid?: number
  readonly gid?: number
}

export type TestProcess = TestPlace & {
  /** Process id while it runs. */
  pid(): number | undefined
  /** Ends it as a crash does; folder and port stay. */
  kill(): Promise<void>
  /** Starts it again on the same folder and port. */
  restart(): Promise<void>
  /** Ends it and removes the folder. */
  stop(): Promise<void>
}

/**
 * Starts a program for a test. Throws what it printed where it is not ready in time; nothing of it is left then.
 * @example const server = await startTestProcess({ name: 'nats', prepare: async ({ port }) => ({ file, args: ['-p', String(port)] }), isReady: ({ port }) => accepts(port) })
 */
export async function startTestProcess(program: TestProgram): Promise<TestProcess> {
  const folder = await mkdtemp(join(tmpdir(), `torpor-${program.name}-test-`))
  const place = { folder, port: program.port ?? (await freePort()) }
  let running: ChildProcess | undefined
  const kill = async (): Promise<void> => {
    if (running !== undefined) await end(running, program.killSignal ?? 'SIGKILL')
    running = undefined
  }
  const stop = async (): Promise<void> => {
    await kill()
    await rm(folder, { recursive: true, force: true })
  }
  try {
    const command = await program.prepare(place)
    const restart = async (): Promise<void> => {
      running = start(command)
      await untilReady(program, place, running)
    }
    await restart()
    return { ...place, pid: () => running?.pid, kill, restart, stop }
  } catch (cause) {
    await stop()
    throw cause
  }
}

/** The program that the variable names, else the one on PATH, else the one that the set-up made. */
export function findTestProgram(name: string, variable: string): string {
  const named = process.env[variable]
  const onPath = (process.env['PATH'] ?? '').split(delimiter).map((folder) => join(folder, name))
  const made = join(import.meta.dirname, '../../../.torpor/tools/bin', name)
  const found = [...(named === undefined ? [] : [named]), ...onPath, made].find((path) => existsSync(path))
  if (found === undefined) throw new Error(`no ${name}: set ${variable} or run the set-up`)
  return found
}

/** A port that nothing listens on just now. */
export async function freePort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1')
  await once(server, 'listening')
  const address = server.address()
  server.close()
  await once(server, 'close')
  return typeof address === 'object' && address !== null ? address.port : 0
}

/** Whether something on this port of the loopback takes a connection; with `greeting`, whether it begins by sending that. */
export function accepts(port: number, greeting?: string): Promise<boolean> {
  const { promise, resolve } = Promise.withResolvers<boolean>()
  const socket = connect(port, '127.0.0.1')
  socket.setTimeout(ANSWER_MS_MAX, () => resolve(false))
  if (greeting === undefined) socket.once('connect', () => resolve(true))
  else socket.once('data', (data) => resolve(data.toString().startsWith(greeting)))
  socket.once('error', () => resolve(false))
  socket.once('close', () => resolve(false))
  return promise.finally(() => socket.destroy())
}

function start({ file, args, env, ...where }: TestCommand): ChildProcess {
  return spawn(file, args, {
    ...where,
    stdio: ['ignore', 'ignore', 'pipe'],
    ...(env === undefined ? {} : { env: { ...process.env, ...env } }),
  })
}

async function untilReady(program: TestProgram, place: TestPlace, child: ChildProcess): Promise<void> {
  let output = ''
  child.stderr?.on('data', (chunk: Buffer) => {
    output = (output + chunk.toString()).slice(-OUTPUT_CHARACTERS_KEPT)
  })
  child.once('error', (cause) => (output += cause.message))
  const deadlineMs = performance.now() + READY_MS_MAX
  while (!(await program.isReady(place, output))) {
    if (hasEnded(child)) throw new Error(`${program.name} ended before it was ready\n${output}`)
    if (performance.now() > deadlineMs)
      throw new Error(`${program.name} is not ready in ${READY_MS_MAX} ms\n${output}`)
    await sleep(POLL_MS)
  }
}

/** One that could not be started has no process id. */
const hasEnded = (child: ChildProcess): boolean =>
  child.pid === undefined || child.exitCode !== null || child.signalCode !== null

async function end(child: ChildProcess, signal: NodeJS.Signals): Promise<void> {
  if (hasEnded(child)) return
  const ended = once(child, 'exit')
  child.kill(signal)
  await ended
}
