import type { Bus, Clock, EventLog, ReadModel } from '@torpor/contracts'
import { projectShard } from './project-shard.ts'
import type { ShardProjection } from './project-shard.ts'
import { serveLists } from './serve-lists.ts'

export type ProjectorOptions = {
  readonly bus: Bus
  readonly log: EventLog
  readonly model: ReadModel
  readonly clock: Clock
  readonly note: ShardProjection['note']
}

/**
 * Folds the log into the read model, all shards side by side, and answers lists. Nothing decides on what it writes: it can be
 * dropped and built anew from the log.
 * @example const projector = startProjector({ bus, log, model, clock, note }); …; await projector.close()
 */
export function startProjector(options: ProjectorOptions): { close(): Promise<void> } {
  const ending = new AbortController()
  const shards = Array.from({ length: options.log.shards }, (_, shard) =>
    projectShard(options, shard, ending.signal),
  )
  const lists = serveLists(options.bus, options.log, options.model)
  return {
    async close() {
      lists.close()
      ending.abort()
      await Promise.all(shards)
      await options.model.close()
    },
  }
}
