/** A small whole system for tests: a real nats-server, control planes, one node with simulated sandboxes, a client. */
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { connectNats } from '@torpor/adapter-nats'
import type { NatsAdapter } from '@torpor/adapter-nats'
import { startTestServer } from '@torpor/adapter-nats/test-server'
import type { TestServer } from '@torpor/adapter-nats/test-server'
import type { Actor } from '@torpor/contracts'
import { sleep, systemClock, systemRandom } from '@torpor/contracts'
import { noCgroups, startGate, startNodeAgent } from '@torpor/node-agent'
import type { Gate, NodeAgent } from '@torpor/node-agent'
import { createClient } from '@torpor/sdk'
import type { TorporClient } from '@torpor/sdk'
import { openSimulatedRuntime } from '@torpor/simulations/world/sandbox/simulated-runtime'
import type { SimulatedRuntime } from '@torpor/simulations/world/sandbox/simulated-runtime'
import { createSimulatedStore } from '@torpor/simulations/world/store'
import { startControlPlane } from '../control-plane.ts'
import type { PlaneLimits } from '../limits.ts'
import type { CutPoint } from './cut-off.ts'
import { cuttable } from './cut-off.ts'

export const SHARDS = 4
const WAIT_MS_MAX = 20_000

/** A control plane with a connection of its own. */
export type TestPlane = {
  close(): Promise<void>
  /** Cuts it off at the first such moment, as if it were killed there; resolves then. */
  cutAt(point: CutPoint): Promise<void>
}

export type TestSystem = {
  readonly server: TestServer
  /** The first control plane. */
  readonly plane: TestPlane
  readonly client: TorporClient
  readonly nats: NatsAdapter
  readonly runtime: SimulatedRuntime
  gate: Gate
  readonly notes: string[]
  startPlane(name: string): Promise<TestPlane>
  startNode(): Promise<void>
  stopNode(): Promise<void>
  /** Applies atespace, pool and template, and waits for its golden snapshot. */
  makeTemplate(spec?: Readonly<Record<string, unknown>>): Promise<void>
  until(name: string, hold: (actor: Actor) => boolean): Promise<Actor>
  /** One request to the actor through the node's gate: what the counter answers. */
  call(actor: Actor): Promise<string>
  close(): Promise<void>
}

/** So short that a takeover and a round of reconciliation are waited for in a test. */
export const QUICK: Partial<PlaneLimits> = { shardLeaseMs: 1_000, shardLeaseRenewMs: 300, reconcileMs: 500 }

export const COUNTER_SPEC = {
  sandboxClasses: [{ name: 'gvisor' }],
  containers: [
    {
      name: 'counter',
      image: 'simulated:counter',
      ports: [{ containerPort: 8080 }],
      wakeupProbe: { httpGet: { path: '/healthz', port: 8080 } },
    },
  ],
  snapshotConfig: { uploadDelay: '200ms', detachDelay: '600ms' },
}

export async function startTestSystem(limits: Partial<PlaneLimits> = {}): Promise<TestSystem> {
  const folder = await mkdtemp(join(tmpdir(), 'torpor-plane-'))
  const server = await startTestServer()
  const notes: string[] = []
  const connections: NatsAdapter[] = []
  const planes: TestPlane[] = []
  const connect = async (name: string, shards?: number): Promise<NatsAdapter> => {
    const nats = await connectNats({
      url: server.url,
      name,
      replicas: 1,
      ...(shards === undefined ? {} : { shards }),
    })
    connections.push(nats)
    return nats
  }
  const startPlane = async (name: string): Promise<TestPlane> => {
    const { ports, isCut, cutAt } = cuttable(await connect(name, SHARDS))
    const plane = await startControlPlane({
      name,
      version: 'test',
      ...ports,
      clock: systemClock,
      random: systemRandom,
      limits,
      note: (level, message, fields) =>
        void notes.push(`${name} ${level} ${message} ${JSON.stringify(fields ?? {})}`),
    })
    // One that was cut off has nobody to hand over to: its end is not waited for.
    const close = async () => {
      const closed = plane.close()
      if (!isCut()) await closed
    }
    planes.push({ close, cutAt })
    return { close, cutAt }
  }
  const plane = await startPlane('plane-1')
  const nats = await connect('client')
  const nodeBus = await connect('node')
  const runtime = await openSimulatedRuntime({ folder: join(folder, 'sandboxes'), random: systemRandom })
  const client = createClient({ bus: nats.bus, feed: nats.feed })
  let agent: NodeAgent | undefined
  let backlog = new AbortController()
  let gateStopped = false
  const system: TestSystem = {
    server,
    plane,
    client,
    nats,
    runtime,
    gate: await startGate({ listen: '127.0.0.1:0', clock: systemClock }),
    notes,
    startPlane,
    async startNode() {
      if (gateStopped) system.gate = await startGate({ listen: '127.0.0.1:0', clock: systemClock })
      gateStopped = false
      const { signal } = (backlog = new AbortController())
      agent = await startNodeAgent(
        {
          bus: nodeBus.bus,
          store: createSimulatedStore(join(folder, 'store')),
          runtime,
          gate: system.gate,
          cgroups: noCgroups,
          backlog: (since) => nodeBus.nodeCommands('node-1', since, signal),
          clock: systemClock,
          random: systemRandom,
          freeBytes: async () => 2 ** 40,
          log: (level, message) => void notes.push(`node ${level} ${message}`),
        },
        { name: 'node-1', dataDir: join(folder, 'node'), cpuMilli: 4000, memoryMib: 8192 },
      )
    },
    async stopNode() {
      backlog.abort()
      await agent?.stop()
      if (!gateStopped) await system.gate.stop()
      gateStopped = true
      agent = undefined
    },
    async makeTemplate(spec = COUNTER_SPEC) {
      await client.apply({ apiVersion: 'torpor.dev/v1', kind: 'Atespace', metadata: { name: 'demo' } })
      await client.apply({
        apiVersion: 'torpor.dev/v1',
        kind: 'WorkerPool',
        metadata: { name: 'pool' },
        spec: {
          replicas: 2,
          sandboxClasses: [{ name: 'gvisor' }],
          template: { resources: { limits: { cpu: '2', memory: '2Gi' } } },
        },
      })
      const metadata = { atespace: 'demo', name: 'counter' }
      await client.apply({
        apiVersion: 'torpor.dev/v1',
        kind: 'ActorTemplate',
        metadata,
        spec: spec as never,
      })
      await condition('the golden snapshot', async () => {
        const { golden } = await client.template('demo', 'counter').get()
        return golden.phase === 'PENDING' ? undefined : golden
      })
    },
    until: (name, hold) =>
      condition(name, async () => {
        const actor = await client.actor('demo', name).get()
        return hold(actor) ? actor : undefined
      }),
    async call(actor) {
      const { worker } = actor
      if (worker === undefined) throw new Error(`${actor.name} runs nowhere`)
      const answer = await fetch(`http://${worker.gateAddress}/`, {
        headers: { 'torpor-assignment': `${actor.uid}.${worker.epoch}.${worker.sequence}` },
      })
      return (await answer.text()).trim()
    },
    async close() {
      await system.stopNode()
      for (const plane of planes) await plane.close()
      for (const connection of connections) await connection.close()
      for (const { sandboxId } of await runtime.list()) await runtime.terminate(sandboxId)
      await server.stop()
      await rm(folder, { recursive: true, force: true })
    },
  }
  await system.startNode()
  return system
}

/** Looks until there is a value, at most `WAIT_MS_MAX`. */
export async function condition<Value>(what: string, look: () => Promise<Value | undefined>): Promise<Value> {
  const deadlineMs = systemClock.monotonicMs() + WAIT_MS_MAX
  let last: unknown
  while (systemClock.monotonicMs() < deadlineMs) {
    const value = await look().catch((cause: unknown) => {
      last = cause
      return undefined
    })
    if (value !== undefined) return value
    await sleep(systemClock, 20)
  }
  throw new Error(`${what} did not come to be`, { cause: last })
}
