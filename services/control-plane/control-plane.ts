import { createActorHost } from '@torpor/actor-host'
import type { Bus, Clock, DurableCommands, EventLog, Random, ShardLeases } from '@torpor/contracts'
import { ALL_DECIDERS } from '@torpor/state-machines'
import type { Context } from './context.ts'
import type { PlaneLimits } from './limits.ts'
import { PLANE_LIMITS } from './limits.ts'
import { openDurableDoor } from './doors/durable-door.ts'
import { openFastDoor } from './doors/fast-door.ts'
import { openReportsDoor } from './doors/reports-door.ts'
import { openSystemDoor } from './doors/system-door.ts'
import { runEffects } from './effects/effects.ts'
import { keepNodeLeases } from './effects/node-leases.ts'
import { indexActorsByNode } from './entities/actors-by-node.ts'
import { watchCommits } from './entities/commit-watch.ts'
import { followCapacities } from './placement/capacities.ts'
import { rememberLostNodes } from './placement/lost-nodes.ts'

export type ControlPlaneOptions = {
  readonly name: string
  readonly version: string
  readonly bus: Bus
  readonly log: EventLog
  readonly leases: ShardLeases
  readonly durableCommands: DurableCommands
  readonly clock: Clock
  readonly random: Random
  readonly note: Context['note']
  /** Other bounds than those of the product, for tests. */
  readonly limits?: Partial<PlaneLimits>
}

/**
 * The actor host with the lifecycle's deciders, doors for what comes in and effects for what must happen. Any number of them
 * share the shards.
 * @example const plane = await startControlPlane(options); …; await plane.close()
 */
export async function startControlPlane(options: ControlPlaneOptions): Promise<{ close(): Promise<void> }> {
  const { bus, clock, random, log, leases, name } = options
  const limits = { ...PLANE_LIMITS, ...options.limits }
  const host = createActorHost({
    log,
    leases,
    deciders: ALL_DECIDERS,
    clock,
    random,
    owner: name,
    limits,
    onFault: (cause) => options.note('warn', cause.message),
  })
  const capacities = followCapacities(bus, clock, limits)
  const context: Context = {
    name,
    version: options.version,
    shards: log.shards,
    host,
    bus,
    clock,
    random,
    note: options.note,
    limits,
    commits: watchCommits(host, clock),
    actorsByNode: indexActorsByNode(host),
    capacities,
    lostNodes: rememberLostNodes(capacities),
    leases: keepNodeLeases(host, clock, limits),
    prepareIds: new Map(),
  }
  const effects = runEffects(context)
  const doors = [
    openFastDoor(context),
    openSystemDoor(context),
    openReportsDoor(context),
    openDurableDoor(context, options.durableCommands),
  ]
  await host.start()
  const end = async (): Promise<void> => {
    effects.close()
    for (const door of doors) door.close()
    capacities.close()
    await host.close()
  }
  let ended: Promise<void> | undefined
  return { close: () => (ended ??= end()) }
}
