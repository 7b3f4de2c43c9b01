import type {
  Clock,
  CloudEvent,
  Decider,
  DomainEvent,
  EntityRef,
  EventLog,
  HostCommand,
  Outcome,
  Random,
  ShardLeases,
} from '@torpor/contracts'
import { fault, isGone, parseCloudEvent, shardOf } from '@torpor/contracts'
import type { HostLimits } from './limits.ts'
import { HOST_LIMITS } from './limits.ts'
import { LeaseKeeper } from './ownership/lease-keeper.ts'
import type { StagedEvent } from './shard/deciding.ts'
import { createIdSource } from './shard/id-source.ts'
import { Shard } from './shard/shard.ts'
import type { ReadResult } from './shard/waiting.ts'

/** An event that is in the log, with the state of its entity before and after it. */
export type Commit = {
  readonly shard: number
  readonly ref: EntityRef
  readonly event: DomainEvent
  readonly cloudEvent: CloudEvent
  readonly before: unknown
  readonly after: unknown
}

/** An entity as committed: it exists and is not deleted. */
export type LiveEntity = { readonly ref: EntityRef; readonly state: unknown; readonly version: number }

export type ActorHostOptions = {
  readonly log: EventLog
  readonly leases: ShardLeases
  /** One for each kind of entity that this host decides for. */
  readonly deciders: readonly Decider<unknown>[]
  readonly clock: Clock
  readonly random: Random
  /** Name of this member: unique among all that run. */
  readonly owner: string
  readonly limits?: Partial<HostLimits>
  /** Told of what went wrong and is being dealt with: a shard given up, leases that do not answer, a listener that threw. */
  readonly onFault?: (cause: Error) => void
}

/**
 * Owns its share of the shards, decides the commands of their entities one after the other, commits what they decide to the log
 * and answers. Every method that asks for a shard of another owner ends with fault `SHARD_MOVED`.
 * @example
 * const host = createActorHost({ log, leases, deciders: [counter], clock, random, owner: 'control-plane-1' })
 * await host.start()
 * const outcome = await host.submit(command) // { ok: true, version: 1, result, duplicate: false }
 * await host.close()
 */
export interface ActorHost {
  /**
   * Joins and takes its share of the shards, as far as they are free; resolves when these are open. Faults: `CONFIG_INVALID` (the
   * log has another number of shards, the clock is behind it), `INTERNAL` (a chain is broken).
   */
  start(): Promise<void>
  /**
   * Decides a command; resolves with its outcome after what it depends on is committed. Faults: `SHARD_MOVED`, `LOG_UNAVAILABLE`,
   * `SHARD_BUSY`; after a fault the command may have been decided all the same: sent again under the same id it is not decided twice.
   */
  submit(command: HostCommand): Promise<Outcome>
  /** State and version as of now, after all that was accepted before. A deleted name gives its `Gone` and version 0. */
  read(ref: EntityRef): Promise<ReadResult>
  /** Committed state, at once; undefined when there is none or the shard is another's. */
  peek(ref: EntityRef): unknown
  owns(shard: number): boolean
  shardOf(ref: Pick<EntityRef, 'atespace' | 'name'>): number
  ownedShards(): readonly number[]
  /** What is committed and not deleted; nothing when the shard is another's. */
  entities(shard: number): Iterable<LiveEntity>
  /** Durable commands of the shard up to this sequence are decided; 0 when none or the shard is another's. */
  commandFloor(shard: number): number
  /**
   * All durable commands up to `sequence` are decided, or are other shards': frames carry it from now on, and a durable command at
   * or below it is a duplicate. Only the caller knows, for it may decide several at a time.
   */
  advanceDurable(shard: number, sequence: number): void
  /** Each event after its PubAck, in the order of the log. Not those of the time before the shard was owned. */
  onCommitted(listener: (commit: Commit) => void): () => void
  onOwned(listener: (shard: number) => void): () => void
  onLost(listener: (shard: number) => void): () => void
  /** Stops deciding, lets frames in flight end, gives its leases back at once. */
  close(): Promise<void>
}

export function createActorHost(options: ActorHostOptions): ActorHost {
  const { log, leases, clock, owner } = options
  const limits = { ...HOST_LIMITS, ...options.limits }
  const deciders = new Map(options.deciders.map((decider) => [decider.kind, decider]))
  const newId = createIdSource(clock, options.random)
  const report = options.onFault ?? (() => undefined)
  const onCommitted = createListeners<Commit>(report)
  const onOwned = createListeners<number>(report)
  const onLost = createListeners<number>(report)
  const shards = new Map<number, Shard>()

  const make = (index: number): Shard => {
    const shard = new Shard({
      shard: index,
      owner,
      log,
      clock,
      newId,
      deciders,
      limits,
      committed: (shard, event) => {
        if (onCommitted.size > 0) onCommitted.tell(commitOf(shard, event))
      },
      ended: (ended, cause) => {
        report(cause)
        keeper.ended(ended)
      },
    })
    shards.set(index, shard)
    return shard
  }
  const keeper = new LeaseKeeper({
    leases,
    clock,
    owner,
    shards: log.shards,
    limits,
    make,
    opened: onOwned.tell,
    lost: onLost.tell,
    failed: report,
  })
  const owned = (index: number): Shard | undefined => {
    const shard = shards.get(index)
    return shard?.isOwned === true ? shard : undefined
  }
  const shardIndexOf = ({ atespace, name }: Pick<EntityRef, 'atespace' | 'name'>): number =>
    shardOf(atespace, name, log.shards)

  const host: ActorHost = {
    start: () => keeper.start(),
    submit(command) {
      const index = shardIndexOf(command.target)
      return owned(index)?.submit(command) ?? Promise.reject(moved(index))
    },
    read(ref) {
      const index = shardIndexOf(ref)
      return owned(index)?.read(ref) ?? Promise.reject(moved(index))
    },
    peek: (ref) => owned(shardIndexOf(ref))?.peek(ref),
    owns: (shard) => owned(shard) !== undefined,
    shardOf: shardIndexOf,
    ownedShards: () => [...shards.keys()].filter(host.owns).toSorted((a, b) => a - b),
    *entities(shard) {
      for (const { ref, state, version } of owned(shard)?.entities() ?? []) {
        if (state !== undefined && !isGone(state)) yield { ref, state, version }
      }
    },
    commandFloor: (shard) => owned(shard)?.durableFloor ?? 0,
    advanceDurable: (shard, sequence) => owned(shard)?.advanceDurable(sequence),
    onCommitted: onCommitted.add,
    onOwned: onOwned.add,
    onLost: onLost.add,
    close: () => keeper.close(),
  }
  return host
}

/** The envelope is parsed only for those who look at it. */
function commitOf(shard: number, { ref, event, line, before, after }: StagedEvent): Commit {
  let parsed: CloudEvent | undefined
  return {
    shard,
    ref,
    event,
    before,
    after,
    get cloudEvent() {
      parsed ??= parseCloudEvent(line)
      return parsed
    },
  }
}

const moved = (shard: number): Error => fault('SHARD_MOVED', `shard ${shard}`)

/** A listener that throws stops neither the others nor the commit. */
function createListeners<Value>(report: (cause: Error) => void) {
  const listeners = new Set<(value: Value) => void>()
  return {
    get size() {
      return listeners.size
    },
    add(listener: (value: Value) => void): () => void {
      listeners.add(listener)
      return () => listeners.delete(listener)
    },
    tell(value: Value): void {
      for (const listener of listeners) {
        try {
          listener(value)
        } catch (cause) {
          report(cause instanceof Error ? cause : new Error(String(cause)))
        }
      }
    },
  }
}
