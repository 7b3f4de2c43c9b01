import type { Actor, Reply } from '@torpor/contracts'
import { isGone, nodeRef } from '@torpor/contracts'
import type { Context } from '../context.ts'
import { askOwner } from '../doors/ask-owner.ts'
import { systemCommand } from '../entities/system-command.ts'

/** Looks for silent nodes: suspects them, then loses them, and tells every shard, whose actors there are lost with it. */
export async function watchSilentNodes(context: Context): Promise<void> {
  for (const { node, silentMs } of context.leases.silent()) {
    if (node.state === 'NODE_STATE_LOST') continue
    const verb = silentMs > context.limits.nodeLostMs ? 'LoseNode' : 'SuspectNode'
    if (verb === 'SuspectNode' && node.state === 'NODE_STATE_SUSPECT') continue
    await context.host.submit(systemCommand(context, nodeRef(node.name), verb, { silentMs }))
  }
}

/** Tells every shard that a node is lost; those that do not answer are told again at the next round. */
export async function announceLostNode(context: Context, node: string): Promise<void> {
  const shards = Array.from({ length: context.shards }, (_, shard) => shard)
  await Promise.allSettled(
    shards.map((shard) =>
      context.host.owns(shard)
        ? declareLostHere(context, shard, node)
        : askOwner(context, shard, { kind: 'node-lost', shard, node }),
    ),
  )
}

/**
 * On the owner of `shard`: what ran on the node is lost, and deletions do not wait for it any more. Says so once per actor,
 * however often it is told.
 */
export async function declareLostHere(
  context: Context,
  shard: number,
  node: string,
): Promise<Reply<unknown>> {
  context.lostNodes.add(node)
  const lost = context.actorsByNode.of(node).filter((ref) => {
    const state = context.host.peek(ref)
    const isOurs = context.host.shardOf(ref) === shard && state !== undefined && !isGone(state)
    return isOurs && waitsFor(state as Actor, node)
  })
  await Promise.all(
    lost.map((ref) => context.host.submit(systemCommand(context, ref, 'DeclareNodeLost', { node }))),
  )
  return { ok: true, result: { actors: lost.length } }
}

const waitsFor = ({ state, worker, collect }: Actor, node: string): boolean =>
  worker?.node === node ||
  (state === 'ACTOR_STATE_DELETING' && collect.some((generation) => generation.node === node))
