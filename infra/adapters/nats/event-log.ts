import type { EventLog, ShardLog } from '@torpor/contracts'
import { fault } from '@torpor/contracts'
import type { BusLink } from './link.ts'
import { shardLog } from './shard-log.ts'

/** The log of all shards. Events are published without asking for an acknowledgement. */
export function eventLog(link: BusLink, shards: number): EventLog {
  const logs = Array.from({ length: shards }, (_, shard): ShardLog => shardLog(link, shard))
  return {
    shards,
    shard(shard) {
      const log = logs[shard]
      if (log === undefined) throw fault('INTERNAL', `shard ${shard}`, { detail: `the log has ${shards}` })
      return log
    },
    publishEvent: (subject, line) => link.publish(subject, line),
  }
}
