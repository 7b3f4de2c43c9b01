import { mkdir } from 'node:fs/promises'
import { join } from 'node:path'
import { LIMITS, uuidV7 } from '@torpor/contracts'
import type { Agent, NodeAgentPorts } from './context.ts'
import { adoptAll } from './execution/adopt.ts'
import { publishCapacity } from './membership/capacity.ts'
import { applyFence } from './membership/fence.ts'
import type { NodeResources } from './membership/lease.ts'
import { keepLease } from './membership/lease.ts'
import { createActorQueues } from './ordering/actor-queues.ts'
import { createSemaphore } from './ordering/semaphore.ts'
import { createOutbox } from './reports/outbox.ts'
import { serveCommands } from './serve-commands.ts'
import { createCheckedCopies } from './snapshots/checked-copies.ts'
import { createDigests } from './snapshots/digests.ts'
import { snapshotFolders } from './snapshots/folders.ts'
import { openNodeCopies } from './snapshots/node-copies.ts'
import { createObtainer } from './snapshots/obtain.ts'
import { createSeals } from './snapshots/seals.ts'
import { createUploads } from './snapshots/uploads.ts'
import { openAssignmentLog } from './state/assignment-log.ts'
import { openSlotRecords } from './state/slot-records.ts'
import { openWorkers } from './state/workers.ts'
import { watchIdle } from './supervision/idle-watch.ts'

/** Behind everything that anybody waits for. */
const SEAL_NICENESS = 19

export type NodeAgentOptions = NodeResources & {
  /** Name of the node: a DNS label. */
  readonly name: string
  /** Everything that must outlive the agent lies here. */
  readonly dataDir: string
}

/** A running agent. */
export type NodeAgent = {
  readonly name: string
  readonly incarnation: string
  /** Resolves when no operation of any actor runs or waits. */
  idle(): Promise<void>
  /** Lets go of bus and timers. Sandboxes go on; an agent over the same folder adopts them. */
  stop(): Promise<void>
}

/**
 * Starts the agent of a node: adopts what runs, takes commands, joins.
 * @example const agent = await startNodeAgent(ports, { name: 'node-1', dataDir, cpuMilli: 2000, memoryMib: 4096 })
 */
export async function startNodeAgent(ports: NodeAgentPorts, options: NodeAgentOptions): Promise<NodeAgent> {
  const agent = await openAgent(ports, options)
  const capacity = publishCapacity(() => agent)
  agent.capacityChanged = () => capacity.changed()
  ports.guard?.onFenced((fenced) => applyFence(agent, fenced))
  await adoptAll(agent)
  for (const copy of agent.copies.all()) agent.seals.begin(copy)
  const server = serveCommands(agent)
  const subscription = server.subscribe()
  const stopIdleWatch = watchIdle(agent)
  capacity.changed()
  void keepLease(agent, { cpuMilli: options.cpuMilli, memoryMib: options.memoryMib })
  void server.readBacklog().catch((error: unknown) => ports.log('error', `backlog: ${String(error)}`))
  return {
    name: agent.name,
    incarnation: agent.incarnation,
    idle: () => agent.queues.idle(),
    async stop() {
      agent.stopped = true
      subscription.unsubscribe()
      stopIdleWatch()
      capacity.stop()
      agent.outbox.stop()
      for (const slot of agent.slots.values()) slot.watch?.abort()
      await agent.seals.stop()
      await agent.uploads.stop()
      await agent.workers.leave()
      await agent.assignments.close()
      await agent.digests.close()
    },
  }
}

async function openAgent(ports: NodeAgentPorts, options: NodeAgentOptions): Promise<Agent> {
  const { name, dataDir } = options
  const { clock, random, store, log } = ports
  await mkdir(join(dataDir, 'staging'), { recursive: true })
  const incarnation = uuidV7(clock, random)
  const folders = snapshotFolders(dataDir)
  const digests = createDigests()
  const checked = createCheckedCopies()
  const copies = await openNodeCopies(folders)
  const background = createDigests(SEAL_NICENESS)
  const seals = createSeals({ copies, checked, clock, log, digests: background })
  const outbox = createOutbox({ ...ports, node: name, incarnation })
  const onFailure = (uid: string, error: unknown): void => log('warn', `${uid}: ${String(error)}`)
  return {
    name,
    incarnation,
    ports,
    folders,
    digests,
    checked,
    copies,
    seals,
    outbox,
    slots: new Map(),
    queues: createActorQueues(LIMITS.actorOperationsMax, onFailure),
    assignments: await openAssignmentLog(join(dataDir, 'assignments.ndjson'), LIMITS.assignmentsKeptMax),
    records: await openSlotRecords(join(dataDir, 'slots')),
    workers: await openWorkers(join(dataDir, 'workers.json'), ports.cgroups),
    obtainer: createObtainer({ folders, copies, seals, store, digests, checked }),
    uploads: createUploads({ store, seals, digests, outbox, clock }),
    places: createSemaphore(LIMITS.placesAtOnceMax),
    restores: createSemaphore(LIMITS.restoresAtOnceMax),
    reservedBytes: 0,
    fenced: false,
    inventoriesAnswered: 0,
    stopped: false,
    capacityChanged: () => undefined,
  }
}
