import type { ActorHost } from '@torpor/actor-host'

type ShardFloor = { seen: number; readonly open: Set<number> }

/** A durable command that this owner decides, or leaves to the next one. */
export type Turn = {
  /** False once the shard went to another owner, or came back anew: whoever owns it then reads the command again. */
  isCurrent(): boolean
  /** It is decided. */
  done(): void
}

/**
 * Per owned shard: which durable commands are under way, and so up to which sequence all are decided. Only that floor is told
 * to the host, which writes it into its frames.
 */
export function createFloors(host: ActorHost) {
  const shards = new Map<number, ShardFloor>()
  const floorOf = ({ seen, open }: ShardFloor): number => (open.size === 0 ? seen : Math.min(...open) - 1)
  return {
    begin(shard: number): void {
      shards.set(shard, { seen: host.commandFloor(shard), open: new Set() })
    },
    end(shard: number): void {
      shards.delete(shard)
    },
    /** Sequence from which reading must begin, less one; undefined when no shard is owned. */
    lowest(): number | undefined {
      return shards.size === 0 ? undefined : Math.min(...[...shards.values()].map(floorOf))
    },
    /** Given when the command is this shard's and not yet decided or under way. Moves the others past it. */
    take(shard: number, sequence: number): Turn | undefined {
      for (const [other, state] of shards) {
        if (other === shard || sequence <= state.seen) continue
        state.seen = sequence
        host.advanceDurable(other, floorOf(state))
      }
      const own = shards.get(shard)
      if (own === undefined || sequence <= own.seen) return undefined
      own.seen = sequence
      own.open.add(sequence)
      const isCurrent = () => shards.get(shard) === own
      return {
        isCurrent,
        done() {
          if (!isCurrent()) return
          own.open.delete(sequence)
          host.advanceDurable(shard, floorOf(own))
        },
      }
    },
  }
}

export type Floors = ReturnType<typeof createFloors>
