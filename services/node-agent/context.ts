import type { Bus, Clock, DomainReport, Random, SandboxRuntime, SnapshotStore } from '@torpor/contracts'
import type { WorkerCgroups } from './cgroups/worker-cgroups.ts'
import type { ActorNames, Slot } from './domain/slot.ts'
import type { Gate } from './gate/gate.ts'
import type { Log } from './log.ts'
import type { ActorQueues } from './ordering/actor-queues.ts'
import type { Semaphore } from './ordering/semaphore.ts'
import type { Outbox } from './reports/outbox.ts'
import type { CheckedCopies } from './snapshots/checked-copies.ts'
import type { Digests } from './snapshots/digests.ts'
import type { Seals } from './snapshots/seals.ts'
import type { SnapshotFolders } from './snapshots/folders.ts'
import type { NodeCopies } from './snapshots/node-copies.ts'
import type { Obtainer } from './snapshots/obtain.ts'
import type { Uploads } from './snapshots/uploads.ts'
import type { AssignmentLog } from './state/assignment-log.ts'
import type { SlotRecords } from './state/slot-records.ts'
import type { Workers } from './state/workers.ts'

/** A message of the stream NODE_COMMANDS, as it was published. */
export type BacklogMessage = {
  readonly sequence: number
  readonly subject: string
  readonly data: Uint8Array
}

/** Everything of the world that the agent touches. */
export type NodeAgentPorts = {
  readonly bus: Bus
  readonly runtime: SandboxRuntime
  readonly gate: Gate
  readonly store: SnapshotStore
  readonly cgroups: WorkerCgroups
  readonly clock: Clock
  readonly random: Random
  /** Bytes that the disk of the data folder has free. */
  freeBytes(): Promise<number>
  /** What the stream holds for this node after `sinceSequence`; it may go on for ever. Absent: nothing is read back. */
  readonly backlog?: (sinceSequence: number) => AsyncIterable<BacklogMessage>
  /** Absent: no guard freezes the node when its lease is lost. */
  readonly guard?: GuardPort
  readonly log: Log
}

/** What the agent tells its guard, and hears from it. */
export interface GuardPort {
  /** The lease was granted; `sentAtMs` is the machine's monotonic time of sending the renewal. */
  granted(sentAtMs: number): void
  /** This node agrees with the log again. */
  reconciled(): void
  /** Calls with true when the guard has frozen the node, with false when it thawed it. */
  onFenced(call: (fenced: boolean) => void): void
  close(): void
}

/** The agent from the inside: its parts, and what changes. */
export type Agent = {
  readonly name: string
  readonly incarnation: string
  readonly ports: NodeAgentPorts
  readonly folders: SnapshotFolders
  readonly slots: Map<string, Slot>
  readonly queues: ActorQueues
  readonly assignments: AssignmentLog
  readonly records: SlotRecords
  readonly workers: Workers
  readonly digests: Digests
  readonly checked: CheckedCopies
  readonly copies: NodeCopies
  readonly obtainer: Obtainer
  readonly seals: Seals
  readonly uploads: Uploads
  readonly outbox: Outbox
  readonly places: Semaphore
  readonly restores: Semaphore
  /** Disk that checkpoints under way may still need. */
  reservedBytes: number
  /** The guard holds this node still: it admits and starts nothing. */
  fenced: boolean
  /** Answers to Inventory for the whole node since the last lease; the guard wants to know. */
  inventoriesAnswered: number
  stopped: boolean
  /** Bookings changed: say so soon. */
  capacityChanged(): void
}

/** Puts on disk how the assignment ended, then reports it. */
export async function reportOutcome(agent: Agent, slot: Slot, report: DomainReport): Promise<void> {
  if (slot.assignment !== undefined) await agent.assignments.end(slot.assignment, report)
  agent.outbox.send(slot.actor, report)
}

export const nameOf = (actor: ActorNames): string => `${actor.atespace}/${actor.name}`
