import { readFileSync } from 'node:fs'
import type { Decider, EntityRef, HostCommand } from '@torpor/contracts'
import { actorRef, formatUuidV7, sha256Hex, systemClock, systemRandom } from '@torpor/contracts'
import type { ActorHost } from '@torpor/actor-host'
import { createActorHost } from '@torpor/actor-host'
import { connectNats } from '@torpor/adapter-nats'
import { startTestServer } from '../../infra/adapters/nats/start-test-server.ts'
import type { TestServer } from '../../infra/adapters/nats/start-test-server.ts'
import { counter } from '../../services/actor-host/testing/counter.ts'
import type { Counter } from '../../services/actor-host/testing/counter.ts'
import type { Benchmark, BenchmarkOptions, BenchmarkResult } from './benchmark.ts'

type Load = { readonly name: string; readonly writers: number; readonly actors: number }

const LOADS: readonly Load[] = [
  { name: 'oneWriter', writers: 1, actors: 1 },
  { name: 'hotActor', writers: 250, actors: 1 },
  { name: 'manyActors', writers: 250, actors: 2_500 },
]
const SECONDS = 10
const SHORT_SECONDS = 2
const DIGEST = sha256Hex('a command of the bench')

/**
 * The engine of the log alone, on a real server with every write synced: commands are submitted in the process of the owner, each
 * writer waits for its answer before it sends the next. At the end a second owner reads the log, and its state must be that of
 * the answers.
 */
export const hostSketchBenchmark: Benchmark = {
  name: 'host-sketch',
  about: 'the actor host alone: commands per second of one owner, every answer after its PubAck, and replay',
  run: (options) => withServer((server) => runOn(server, options)),
}

async function withServer(run: (server: TestServer) => Promise<BenchmarkResult>): Promise<BenchmarkResult> {
  const server = await startTestServer()
  try {
    return await run(server)
  } finally {
    await server.stop()
  }
}

async function runOn(
  server: TestServer,
  { short, print, signal }: BenchmarkOptions,
): Promise<BenchmarkResult> {
  const nats = await connectNats({ url: server.url, name: 'bench', shards: 1 })
  const figures: Record<string, number> = {}
  const samples: Record<string, readonly number[]> = {}
  try {
    const host = hostOn(nats, 'one')
    await host.start()
    print('load         commands/s   p50 ms   p99 ms   CPU of owner and server in µs a command')
    for (const load of LOADS) {
      signal.throwIfAborted()
      const seconds = short ? SHORT_SECONDS : SECONDS
      const before = cpuMs(server)
      const latenciesMs = await drive(host, load, seconds * 1_000)
      const after = cpuMs(server)
      const perCommand = (ms: number): number => Math.round((ms * 10_000) / latenciesMs.length) / 10
      const owner = perCommand(after.owner - before.owner)
      const bus = perCommand(after.server - before.server)
      const rate = Math.round(latenciesMs.length / seconds)
      const sorted = latenciesMs.toSorted((a, b) => a - b)
      const at = (part: number): number =>
        Math.round((sorted[Math.floor(sorted.length * part)] ?? 0) * 10) / 10
      figures[`${load.name}PerSecond`] = rate
      samples[`${load.name}Ms`] = latenciesMs.filter((_, index) => index % 100 === 0)
      figures[`${load.name}OwnerCpuUs`] = owner
      figures[`${load.name}ServerCpuUs`] = bus
      const columns = [rate, at(0.5), at(0.99), owner, bus].map((value) => String(value).padStart(10))
      print(`${load.name.padEnd(12)} ${columns.join(' ')}`)
    }
    await measureReplay(host, nats, figures, print)
  } finally {
    await nats.close()
  }
  return {
    figures,
    bars: [],
    samples,
    syncInterval: 'always',
    versions: { node: process.version, 'nats-server': nats.info.serverVersion },
  }
}

const CLOCK_TICK_MS = 10

/** CPU time used so far: it says more than wall time on a machine that others use too. */
function cpuMs(server: TestServer): { readonly owner: number; readonly server: number } {
  const { user, system } = process.cpuUsage()
  const fields = readFileSync(`/proc/${server.pid()}/stat`, 'utf8').split(') ').at(-1)?.split(' ') ?? []
  return {
    owner: (user + system) / 1_000,
    server: (Number(fields[11]) + Number(fields[12])) * CLOCK_TICK_MS,
  }
}

type Nats = Awaited<ReturnType<typeof connectNats>>

const hostOn = ({ log, leases }: Nats, owner: string): ActorHost =>
  createActorHost({
    log,
    leases,
    deciders: [counter as Decider<unknown>],
    clock: systemClock,
    random: systemRandom,
    owner,
  })

async function drive(host: ActorHost, load: Load, durationMs: number): Promise<number[]> {
  const refs = Array.from({ length: load.actors }, (_, index) =>
    actorRef('bench', `${load.name.toLowerCase()}-${index}`),
  )
  await Promise.all(refs.map((ref) => host.submit(commandFor('Create', ref))))
  const latenciesMs: number[] = []
  const untilMs = performance.now() + durationMs
  const write = async (writer: number): Promise<void> => {
    for (let turn = writer; performance.now() < untilMs; turn += load.writers) {
      const ref = refs[turn % refs.length]
      if (ref === undefined) return
      const beganMs = performance.now()
      const outcome = await host.submit(commandFor('Count', ref))
      if (!outcome.ok) throw new Error(outcome.refusal.message)
      latenciesMs.push(performance.now() - beganMs)
    }
  }
  await Promise.all(Array.from({ length: load.writers }, (_, writer) => write(writer)))
  const counted = refs.reduce((sum, ref) => sum + (host.peek(ref) as Counter).count, 0)
  if (counted !== latenciesMs.length) {
    throw new Error(`${latenciesMs.length} commands were answered, ${counted} are counted`)
  }
  return latenciesMs
}

async function measureReplay(
  host: ActorHost,
  nats: Nats,
  figures: Record<string, number>,
  print: BenchmarkOptions['print'],
): Promise<void> {
  const before = [...host.entities(0)]
  const events = before.reduce((sum, { version }) => sum + version, 0)
  await host.close()
  const next = hostOn(nats, 'two')
  const beganMs = performance.now()
  await next.start()
  const seconds = (performance.now() - beganMs) / 1_000
  for (const { ref, state } of before) {
    if ((next.peek(ref) as Counter).count !== (state as Counter).count) throw new Error(`${ref.name} differs`)
  }
  await next.close()
  figures.replayPerSecond = Math.round(events / seconds)
  print(
    `take-over and replay of ${events} events: ${seconds.toFixed(2)} s, ${figures.replayPerSecond} events/s`,
  )
}

/** The cost of making a command is its client's, not the owner's: it is kept small. */
const newId = createIds()

function createIds(): () => string {
  let pool = systemRandom.bytes(0)
  let at = 0
  return () => {
    if (at + 10 > pool.byteLength) {
      pool = systemRandom.bytes(65_530)
      at = 0
    }
    at += 10
    return formatUuidV7(systemClock.nowMs(), pool.subarray(at - 10, at))
  }
}

function commandFor(type: string, target: EntityRef): HostCommand {
  const id = newId()
  return {
    id,
    type,
    target,
    data: {},
    digest: DIGEST,
    principal: { principal: 'bench', proof: 'system' },
    correlationId: id,
  }
}
