/** The world around a node of real processes in its tests: a real bus, and a control plane that writes down. */
import { spawn } from 'node:child_process'
import type { ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { pathToFileURL } from 'node:url'
import { connectNats } from '@torpor/adapter-nats'
import { startTestServer } from '@torpor/adapter-nats/test-server'
import {
  ALL,
  SUBJECTS,
  formatAssignment,
  reportEnvelopeSchema,
  systemClock,
  systemRandom,
  uuidV7,
} from '@torpor/contracts'
import type { NodeCommandName, ReportData, ReportEnvelope, ReportName, Reply } from '@torpor/contracts'
import { until } from './agent-world.ts'

export const NODE = 'node-1'

export type ProcessWorld = {
  readonly folder: string
  /** Starts a part of the node as its own process; resolves when it is ready. */
  start(entry: string): Promise<NodePart>
  command<Result = null>(verb: NodeCommandName, data: unknown): Promise<Reply<Result>>
  /** Publishes a command that nobody may be there to answer. */
  publish(verb: NodeCommandName, data: unknown): void
  /** The first report of this type about this execution or generation. */
  report<Name extends ReportName>(type: Name, about: object): Promise<ReportData<Name>>
  readonly reports: readonly ReportEnvelope[]
  close(): Promise<void>
}

export type NodePart = {
  readonly address: string
  /** Resolves with the exit code; null after a signal that it did not handle. */
  end(signal?: NodeJS.Signals): Promise<number | null>
}

export async function startProcessWorld(settings: Readonly<Record<string, string>>): Promise<ProcessWorld> {
  const folder = await mkdtemp(join(tmpdir(), 'torpor-node-'))
  const server = await startTestServer()
  const nats = await connectNats({ url: server.url, name: 'a control plane', shards: 2 })
  const reports: ReportEnvelope[] = []
  const parts: ChildProcess[] = []
  nats.bus.subscribe(ALL.reports, ({ data }, respond) => {
    reports.push(reportEnvelopeSchema.parse(JSON.parse(Buffer.from(data).toString('utf8'))))
    respond(Buffer.from('{"ok":true,"result":null}'))
  })
  nats.bus.subscribe(ALL.rpc, (_message, respond) =>
    respond(Buffer.from('{"ok":true,"result":{"grantedMs":20000,"rejoin":false}}')),
  )
  const environment = {
    PATH: process.env['PATH'],
    TORPOR_NATS_URL: server.url,
    TORPOR_NAME: NODE,
    TORPOR_DATA_DIR: join(folder, 'node'),
    TORPOR_STORE: pathToFileURL(join(folder, 'store')).href,
    TORPOR_GUARD_SOCKET: join(folder, 'guard.sock'),
    TORPOR_LOG_LEVEL: 'error',
    ...settings,
  }
  const bytesOf = (verb: NodeCommandName, data: unknown): Uint8Array =>
    Buffer.from(JSON.stringify({ id: uuidV7(systemClock, systemRandom), type: verb, data }))
  return {
    folder,
    reports,
    async start(entry) {
      const part = spawn(process.execPath, [join(import.meta.dirname, entry)], {
        stdio: ['ignore', 'pipe', 'inherit'],
        env: environment,
      })
      parts.push(part)
      return { address: await readyAddress(part, entry), end: (signal) => end(part, signal) }
    },
    async command(verb, data) {
      const subject = SUBJECTS.nodeCommand(NODE, verb)
      const answer = await nats.bus.request(subject, bytesOf(verb, data), { timeoutMs: 10_000 })
      return JSON.parse(Buffer.from(answer).toString('utf8')) as Reply<never>
    },
    publish: (verb, data) => nats.bus.publish(SUBJECTS.nodeCommand(NODE, verb), bytesOf(verb, data)),
    async report<Name extends ReportName>(type: Name, about: object) {
      const isAbout = (data: unknown): boolean =>
        Object.entries(about).every(([key, value]) => (data as Record<string, unknown>)[key] === value)
      const found = await until(`report ${type} about ${JSON.stringify(about)}`, () =>
        reports.find((given) => given.type === type && isAbout(given.data)),
      )
      return found.data as ReportData<Name>
    },
    async close() {
      await Promise.all(parts.map((part) => end(part)))
      await nats.close()
      await server.stop()
      await rm(folder, { recursive: true, force: true })
    },
  }
}

async function readyAddress(part: ChildProcess, entry: string): Promise<string> {
  if (part.stdout === null) throw new Error('no output')
  for await (const line of createInterface({ input: part.stdout })) {
    const [word, , address = ''] = line.split(' ')
    if (word === 'READY') return address
  }
  throw new Error(`${entry} ended before it was ready`)
}

async function end(part: ChildProcess, signal: NodeJS.Signals = 'SIGTERM'): Promise<number | null> {
  if (part.exitCode !== null || part.signalCode !== null) return part.exitCode
  const ended = once(part, 'exit')
  part.kill(signal)
  const [code] = (await ended) as [number | null]
  return code
}

/** What the actor answers to a request that a router would send with this assignment. */
export async function ask(gate: string, actorUid: string, sequence: number): Promise<string> {
  const assignment = formatAssignment({ actorUid, epoch: 1, sequence })
  const headers = { 'torpor-assignment': assignment, connection: 'close' }
  return (await (await fetch(`http://${gate}/`, { headers })).text()).trim()
}
