import type { ActorHost } from '@torpor/actor-host'
import type { Bus, Clock, HostCommand, Random, Reply } from '@torpor/contracts'
import type { ActorsByNode } from './entities/actors-by-node.ts'
import type { CommitWatch } from './entities/commit-watch.ts'
import type { Capacities } from './placement/capacities.ts'
import type { LostNodes } from './placement/lost-nodes.ts'
import type { NodeLeases } from './effects/node-leases.ts'
import type { PlaneLimits } from './limits.ts'

/** What handlers and effects work with. One per control plane. */
export type Context = {
  readonly name: string
  readonly version: string
  readonly shards: number
  readonly host: ActorHost
  readonly bus: Bus
  readonly clock: Clock
  readonly random: Random
  readonly limits: PlaneLimits
  readonly commits: CommitWatch
  readonly actorsByNode: ActorsByNode
  readonly capacities: Capacities
  readonly lostNodes: LostNodes
  readonly leases: NodeLeases
  /** Id of the admission that an actor's resume goes on with, so that Go finds what Prepare made ready. */
  readonly prepareIds: Map<string, string>
  readonly note: (
    level: 'info' | 'warn' | 'error',
    message: string,
    fields?: Readonly<Record<string, unknown>>,
  ) => void
}

/** Answers one message. Runs on the owner of the target's shard. */
export type Handler = (command: HostCommand, context: Context) => Promise<Reply<unknown>>
