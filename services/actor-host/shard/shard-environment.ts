import type { Clock, Decider, EntityKind, EventLog } from '@torpor/contracts'
import type { HostLimits } from '../limits.ts'
import type { StagedEvent } from './deciding.ts'

/** What a shard has around it. */
export type ShardEnvironment = {
  readonly shard: number
  readonly owner: string
  readonly log: EventLog
  readonly clock: Clock
  readonly newId: () => string
  readonly deciders: ReadonlyMap<EntityKind, Decider<unknown>>
  readonly limits: HostLimits
  /** An event was committed, in the order of the log. */
  committed(shard: number, event: StagedEvent): void
  /** The shard ended by itself: another owner was seen, or the log is not as it must be. */
  ended(shard: number, cause: Error): void
}
