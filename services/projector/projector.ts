import type { Bus, Clock, EventLog, ReadModel } from '@torpor/contracts'
import { projectShard } from './project-shard.ts'
import type { Note } from './retry-forever.ts'
import { retryForever } from './retry-forever.ts'
import { serveLists } from './serve-lists.ts'

export type ProjectorOptions = {
  readonly bus: Bus
  readonly log: EventLog
  readonly model: ReadModel & { migrate(): Promise<void> }
  readonly clock: Clock
  readonly note: Note
  /** Drops all rows and positions first, and builds them anew from the log. */
  readonly rebuild?: boolean
}

export type Projector = {
  /** Resolves when the database was reached and its tables are up to date. */
  readonly prepared: Promise<void>
  close(): Promise<void>
}

/**
 * Folds the log into the read model, all shards side by side, and answers lists; those say READ_MODEL_UNAVAILABLE while the
 * database is away. Nothing decides on what it writes: it can be dropped and built anew from the log.
 * @example const projector = startProjector({ bus, log, model, clock, note }); …; await projector.close()
 */
export function startProjector(options: ProjectorOptions): Projector {
  const { bus, log, model } = options
  const ending = new AbortController()
  const lists = serveLists(bus, log, model)
  const prepared = retryForever('preparation of the database', options, ending.signal, async () => {
    await model.migrate()
    if (options.rebuild === true) await model.clear()
    return 'done'
  })
  const shards = prepared.then(() =>
    Promise.all(
      Array.from({ length: log.shards }, (_, shard) => projectShard(options, shard, ending.signal)),
    ),
  )
  return {
    prepared,
    async close() {
      lists.close()
      ending.abort()
      await shards
      await model.close()
    },
  }
}
