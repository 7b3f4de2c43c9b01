import type { ActorHost } from '@torpor/actor-host'
import type { Actor, EntityRef } from '@torpor/contracts'
import { entityKey, isGone, parseEntityKey } from '@torpor/contracts'

/**
 * Which actors of the owned shards run on a node, have a snapshot there, or wait for one to be collected there: an index of
 * the committed state. Under the empty name: those that wait for a generation to be collected by any node.
 */
export type ActorsByNode = {
  of(node: string): readonly EntityRef[]
}

export function indexActorsByNode(host: ActorHost): ActorsByNode {
  const keysByNode = new Map<string, Set<string>>()
  const move = (key: string, before: unknown, after: unknown) => {
    const kept = nodesOf(after)
    for (const node of nodesOf(before)) if (!kept.has(node)) keysByNode.get(node)?.delete(key)
    for (const node of kept) {
      const keys = keysByNode.get(node) ?? new Set<string>()
      keysByNode.set(node, keys.add(key))
    }
  }
  const begin = (shard: number) => {
    for (const { ref, state } of host.entities(shard)) {
      if (ref.kind === 'actor') move(entityKey(ref), undefined, state)
    }
  }
  host.onOwned(begin)
  host.onCommitted(({ ref, before, after }) => {
    if (ref.kind === 'actor') move(entityKey(ref), before, after)
  })
  host.onLost((shard) => {
    for (const keys of keysByNode.values()) {
      for (const key of keys) if (host.shardOf(parseEntityKey(key)) === shard) keys.delete(key)
    }
  })
  for (const shard of host.ownedShards()) begin(shard)
  return { of: (node) => [...(keysByNode.get(node) ?? [])].map(parseEntityKey) }
}

function nodesOf(state: unknown): ReadonlySet<string> {
  if (state === undefined || isGone(state)) return new Set()
  const { worker, snapshots, collect } = state as Actor
  const holding = [worker?.node ?? '', ...snapshots.map(({ locality }) => locality)]
  return new Set([...holding.filter((node) => node !== ''), ...collect.map(({ node }) => node)])
}
