import { setTimeout as sleep } from 'node:timers/promises'
import type { Bus, Clock, DurableCommands, EventFeed, EventLog, ShardLeases } from '@torpor/contracts'
import { fault, LIMITS, STREAMS, systemClock } from '@torpor/contracts'
import { natsBus } from './bus.ts'
import type { LinkOptions } from './connect-link.ts'
import { connectLink } from './connect-link.ts'
import { durableCommands } from './durable-commands.ts'
import { ensureStreams } from './ensure-streams.ts'
import { eventFeed } from './event-feed.ts'
import { eventLog } from './event-log.ts'
import { streamState } from './jetstream-api.ts'
import type { BusLink } from './link.ts'
import type { CapturedNodeCommand } from './node-commands.ts'
import { followNodeCommands } from './node-commands.ts'
import { shardLeases } from './shard-leases.ts'
import { SHARDS_METADATA } from './stream-configs.ts'

export type NatsOptions = LinkOptions & {
  /** Replicas of the streams that are made. */
  readonly replicas?: number
  /**
   * A number: makes what is missing of a system with so many shards, now and after each interruption (an existing system
   * keeps its own number). `existing`: waits for a system and takes its number. Absent: has nothing to do with the log.
   */
  readonly shards?: number | 'existing'
  readonly clock?: Clock
}

/** Everything that a part needs of NATS, behind the ports. */
export type NatsAdapter = {
  readonly bus: Bus
  readonly log: EventLog
  readonly leases: ShardLeases
  readonly durableCommands: DurableCommands
  readonly feed: EventFeed
  /** Commands to a node after a sequence of the stream NODE_COMMANDS, until the signal. */
  nodeCommands(node: string, sinceSequence: number, signal: AbortSignal): AsyncIterable<CapturedNodeCommand>
  readonly info: { readonly serverVersion: string; readonly url: string }
  close(): Promise<void>
}

/**
 * Connects a part to NATS.
 * Faults: BUS_UNAVAILABLE (not reached in `busConnectMs`, or JetStream is off), BUS_TOO_OLD, UNAUTHENTICATED.
 * @example const { bus, log, close } = await connectNats({ url: 'nats://127.0.0.1:4222', name: 'control-plane', shards: 4 })
 */
export async function connectNats(options: NatsOptions): Promise<NatsAdapter> {
  const link = await connectLink(options)
  try {
    const shards = await shardsOf(link, options)
    const leases = shardLeases(link, options.clock ?? systemClock)
    if (typeof options.shards === 'number') leases.start()
    return {
      bus: natsBus(link),
      log: eventLog(link, shards),
      leases,
      durableCommands: durableCommands(link),
      feed: eventFeed(link),
      nodeCommands: (node, sinceSequence, signal) => followNodeCommands(link, node, sinceSequence, signal),
      info: { serverVersion: link.connection.info?.version ?? '', url: options.url },
      async close() {
        leases.close()
        await link.close()
      },
    }
  } catch (cause) {
    await link.close()
    throw cause
  }
}

async function shardsOf(link: BusLink, { shards, replicas = 1 }: NatsOptions): Promise<number> {
  if (shards === undefined) return 0
  if (shards === 'existing') return existingShards(link)
  const made = await untilDone(() => ensureStreams(link, { shards, replicas }))
  // A server that was restarted has lost the streams that it kept in memory.
  link.onReconnect(() => void ensureAgain(link, made, replicas))
  return made
}

async function ensureAgain(link: BusLink, shards: number, replicas: number): Promise<void> {
  while (link.connected) {
    try {
      await ensureStreams(link, { shards, replicas })
      return
    } catch (cause) {
      link.notice('streamsMissing', cause instanceof Error ? cause.message : String(cause))
      await sleep(LIMITS.streamRetryMsMax)
    }
  }
}

async function existingShards(link: BusLink): Promise<number> {
  return untilDone(async () => {
    const { metadata } = await streamState(link, STREAMS.log(0))
    const shards = Number(metadata[SHARDS_METADATA])
    if (Number.isInteger(shards) && shards > 0) return shards
    throw fault('BUS_UNAVAILABLE', STREAMS.log(0), { detail: 'it does not say how many shards there are' })
  })
}

/** A server that has just started, and a system that is just being made, need a moment: `busConnectMs` at most. */
async function untilDone<Result>(attempt: () => Promise<Result>): Promise<Result> {
  const deadline = systemClock.monotonicMs() + LIMITS.busConnectMs
  for (;;) {
    try {
      return await attempt()
    } catch (cause) {
      if (systemClock.monotonicMs() >= deadline) throw cause
      await sleep(LIMITS.busConnectRetryMs)
    }
  }
}
