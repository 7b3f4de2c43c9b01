/** The world around an agent in its tests: simulated bus, store and sandboxes, and a control plane that writes down. */
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import {
  ALL,
  LIMITS,
  SUBJECTS,
  actorTemplateSpecSchema,
  formatAssignment,
  reportEnvelopeSchema,
  systemClock,
  systemRandom,
  uuidV7,
  workerPoolSpecSchema,
} from '@torpor/contracts'
import type {
  Admission,
  NodeCommandData,
  NodeCommandName,
  Reply,
  ReportEnvelope,
  ReportData,
  ReportName,
  Snapshot,
} from '@torpor/contracts'
import { createSimulatedBus } from '@torpor/simulations/world/bus'
import type { SimulatedBus } from '@torpor/simulations/world/bus'
import { openSimulatedRuntime } from '@torpor/simulations/world/sandbox/simulated-runtime'
import type { SimulatedRuntime } from '@torpor/simulations/world/sandbox/simulated-runtime'
import { createSimulatedStore } from '@torpor/simulations/world/store'
import type { SimulatedStore } from '@torpor/simulations/world/store'
import { startNodeAgent } from './agent.ts'
import type { NodeAgent } from './agent.ts'
import { noCgroups } from './cgroups/worker-cgroups.ts'
import type { NodeAgentPorts } from './context.ts'
import type { ActorNames } from './domain/slot.ts'
import type { Gate } from './gate/gate.ts'
import { startGate } from './gate/gate.ts'

export const NODE = 'node-1'
const WAIT_MS_MAX = 15_000

export type AgentWorld = {
  readonly bus: SimulatedBus
  readonly store: SimulatedStore
  readonly runtime: SimulatedRuntime
  readonly dataDir: string
  readonly reports: ReportEnvelope[]
  agent: NodeAgent
  gate: Gate
  freeBytes: number
  /** While true the control plane does not know this node. */
  forgotten: boolean
  command<Result = null>(verb: NodeCommandName, data: unknown, id?: string): Promise<Reply<Result>>
  /** Ends the agent and its gate without a word, and starts another one over the same folder and sandboxes. */
  restart(ports?: Partial<NodeAgentPorts>): Promise<void>
  die(): Promise<void>
  close(): Promise<void>
}

/** A node with one worker of one core and 1 GiB, joined to a control plane that answers everything with yes. */
export async function startAgentWorld(overrides: Partial<NodeAgentPorts> = {}): Promise<AgentWorld> {
  const folder = await mkdtemp(join(tmpdir(), 'torpor-agent-'))
  const bus = createSimulatedBus()
  const store = createSimulatedStore(join(folder, 'store'))
  const runtime = await openSimulatedRuntime({ folder: join(folder, 'sandboxes'), random: systemRandom })
  const dataDir = join(folder, 'data')
  const reports: ReportEnvelope[] = []
  answerReports(bus, reports)
  answerLeases(bus, () => world.forgotten)
  const start = async (ports: Partial<NodeAgentPorts>): Promise<void> => {
    world.gate = await startGate({ listen: '127.0.0.1:0', clock: systemClock })
    world.agent = await startNodeAgent(
      {
        bus,
        store,
        runtime,
        gate: world.gate,
        cgroups: noCgroups,
        clock: systemClock,
        random: systemRandom,
        freeBytes: async () => world.freeBytes,
        log: () => undefined,
        ...overrides,
        ...ports,
      },
      { name: NODE, dataDir, cpuMilli: 2000, memoryMib: 4096 },
    )
  }
  const world: AgentWorld = {
    bus,
    store,
    runtime,
    dataDir,
    reports,
    freeBytes: 2 ** 40,
    forgotten: false,
    agent: undefined as unknown as NodeAgent,
    gate: undefined as unknown as Gate,
    command: (verb, data, id) => command(bus, verb, data, id),
    async die() {
      await world.agent.stop()
      await world.gate.stop()
    },
    async restart(ports = {}) {
      await world.die()
      await start(ports)
    },
    async close() {
      await world.agent.idle()
      await world.die()
      for (const { sandboxId } of await runtime.list()) await runtime.terminate(sandboxId)
      await bus.close()
      await rm(folder, { recursive: true, force: true })
    },
  }
  await start({})
  await world.command('SetWorkers', aPool())
  return world
}

export const aPool = (changes: object = {}): NodeCommandData<'SetWorkers'> => ({
  workerPool: 'pool',
  workers: ['pool-0'],
  spec: workerPoolSpecSchema.parse({
    sandboxClasses: [{ name: 'gvisor' }],
    template: { resources: { limits: { cpu: '1', memory: '1Gi' } } },
    ...changes,
  }),
})

/** A counter of half a core and 256 MiB, with a probe; `env` and `container` change its container. */
export const aSpec = (
  changes: { env?: Record<string, string>; container?: object; spec?: object } = {},
): NodeCommandData<'Go'>['spec'] =>
  actorTemplateSpecSchema.parse({
    sandboxClasses: [{ name: 'gvisor' }],
    containers: [
      {
        name: 'counter',
        image: 'simulated/counter',
        ports: [{ containerPort: 8080 }],
        wakeupProbe: { httpGet: { path: '/healthz', port: 8080 }, timeout: '2s' },
        env: Object.entries(changes.env ?? {}).map(([name, value]) => ({ name, value })),
        ...changes.container,
      },
    ],
    ...changes.spec,
  })

export type TestActor = ActorNames & {
  /** What Prepare and Go need. */
  start(sequence: number, snapshot?: Snapshot, spec?: NodeCommandData<'Go'>['spec']): NodeCommandData<'Go'>
}

export function anActor(name = 'counter-1'): TestActor {
  const names = { actorUid: uuidV7(systemClock, systemRandom), atespace: 'demo', name }
  return {
    ...names,
    start: (sequence, snapshot, spec = aSpec()) => ({
      ...names,
      epoch: 1,
      sequence,
      prepareId: `prepare-${sequence}`,
      worker: 'pool-0',
      spec,
      templateUid: 'template-uid',
      ...(snapshot === undefined ? {} : { snapshot }),
    }),
  }
}

/** A Go as the Prepare that comes before it. */
export function prepareOf(go: NodeCommandData<'Go'>, ttlMs = 5_000): NodeCommandData<'Prepare'> {
  const { epoch: _epoch, sequence: _sequence, ...rest } = go
  return { ...rest, ttlMs }
}

export const checkpointOf = (
  actor: TestActor,
  sequence: number,
  generation: number,
  drain: 'drain' | 'refuse' | 'force' = 'drain',
) => ({
  actorUid: actor.actorUid,
  atespace: actor.atespace,
  name: actor.name,
  epoch: 1,
  sequence,
  generation,
  templateUid: 'template-uid',
  drain,
  drainMs: 2_000,
})

export const namesOf = ({ actorUid, atespace, name }: ActorNames): ActorNames => ({
  actorUid,
  atespace,
  name,
})

async function command<Result>(
  bus: SimulatedBus,
  verb: NodeCommandName,
  data: unknown,
  id = uuidV7(systemClock, systemRandom),
): Promise<Reply<Result>> {
  const bytes = Buffer.from(JSON.stringify({ id, type: verb, data }))
  const answer = await bus.request(SUBJECTS.nodeCommand(NODE, verb), bytes, {
    timeoutMs: LIMITS.nodeCommandTimeoutMs,
  })
  return JSON.parse(Buffer.from(answer).toString('utf8')) as Reply<Result>
}

function answerReports(bus: SimulatedBus, reports: ReportEnvelope[]): void {
  bus.subscribe(ALL.reports, ({ data }, respond) => {
    reports.push(reportEnvelopeSchema.parse(JSON.parse(Buffer.from(data).toString('utf8'))))
    respond(Buffer.from('{"ok":true,"result":null}'))
  })
}

function answerLeases(bus: SimulatedBus, isForgotten: () => boolean): void {
  bus.subscribe(ALL.rpc, ({ subject }, respond) => {
    const rejoin = isForgotten() && subject.endsWith('RenewNodeLease')
    respond(Buffer.from(JSON.stringify({ ok: true, result: { grantedMs: LIMITS.fenceMs, rejoin } })))
  })
}

/** Waits for what shall become true; says what it waited for when it does not. */
export async function until<Value>(
  what: string,
  look: () => Value | undefined | Promise<Value | undefined>,
): Promise<Value> {
  const deadlineMs = performance.now() + WAIT_MS_MAX
  for (;;) {
    const value = await look()
    if (value !== undefined && value !== false) return value
    if (performance.now() > deadlineMs) throw new Error(`waited ${WAIT_MS_MAX} ms for ${what}`)
    await new Promise((resolve) => setTimeout(resolve, 5))
  }
}

/** The data of the `nth` report of this type about the actor. */
export async function report<Name extends ReportName>(
  world: AgentWorld,
  actor: ActorNames,
  type: Name,
  nth = 1,
): Promise<ReportData<Name>> {
  const found = await until(
    `report ${type} no. ${nth} of ${actor.name}`,
    () => world.reports.filter((given) => given.actoruid === actor.actorUid && given.type === type)[nth - 1],
  )
  return found.data as ReportData<Name>
}

export const typesOf = (world: AgentWorld, actor: ActorNames): string[] =>
  world.reports.filter(({ actoruid }) => actoruid === actor.actorUid).map(({ type }) => type)

/** Prepares, goes and waits until the actor serves. */
export async function runActor(
  world: AgentWorld,
  actor: TestActor,
  go: NodeCommandData<'Go'>,
): Promise<Reply<Admission>> {
  const before = typesOf(world, actor).filter((type) => type === 'Restored').length
  const admission = await world.command<Admission>('Prepare', prepareOf(go))
  await world.command('Go', go)
  await report(world, actor, 'Restored', before + 1)
  return admission
}

/** A request through the gate, as a router sends it. */
export async function throughGate(world: AgentWorld, actor: TestActor, sequence: number, path = '/') {
  const assignment = formatAssignment({ actorUid: actor.actorUid, epoch: 1, sequence })
  const response = await fetch(`http://${world.gate.address}${path}`, {
    headers: { 'torpor-assignment': assignment, connection: 'close' },
  })
  return { status: response.status, text: (await response.text()).trim() }
}

export const counts = (n: number): string => `memory count: ${n} | file count: ${n} | rootfs count: ${n}`
