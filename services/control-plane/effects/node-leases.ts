import type { ActorHost } from '@torpor/actor-host'
import type { Clock, Node } from '@torpor/contracts'
import { isGone, nodeRef } from '@torpor/contracts'
import type { PlaneLimits } from '../limits.ts'

/**
 * When each node of the owned shards was granted its lease last. In memory on purpose: an owner that begins, begins the whole
 * wait again, so that its own absence is never taken for a node's.
 */
export type NodeLeases = {
  grant(node: string, incarnation: string): void
  /** Nodes that are silent for longer than `nodeSuspectMs`, with for how long. */
  silent(): readonly { readonly node: Node; readonly silentMs: number }[]
}

export function keepNodeLeases(
  host: ActorHost,
  clock: Clock,
  limits: Pick<PlaneLimits, 'nodeSuspectMs'>,
): NodeLeases {
  const grantedAtMs = new Map<string, number>()
  host.onLost((shard) => {
    for (const node of grantedAtMs.keys()) if (host.shardOf(nodeRef(node)) === shard) grantedAtMs.delete(node)
  })
  return {
    grant: (node) => void grantedAtMs.set(node, clock.monotonicMs()),
    silent: () =>
      nodesOf(host).flatMap((node) => {
        const atMs = grantedAtMs.get(node.name)
        if (atMs === undefined) {
          grantedAtMs.set(node.name, clock.monotonicMs())
          return []
        }
        const silentMs = Math.round(clock.monotonicMs() - atMs)
        return silentMs > limits.nodeSuspectMs ? [{ node, silentMs }] : []
      }),
  }
}

/** Nodes whose shards are owned here. */
export function nodesOf(host: ActorHost): readonly Node[] {
  const nodes: Node[] = []
  for (const shard of host.ownedShards()) {
    for (const { ref, state } of host.entities(shard)) {
      if (ref.kind === 'node' && !isGone(state)) nodes.push(state as Node)
    }
  }
  return nodes
}
