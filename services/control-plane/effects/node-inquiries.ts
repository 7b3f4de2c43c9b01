import type { Actor, EntityRef, Inventory } from '@torpor/contracts'
import { isGone } from '@torpor/contracts'
import { reconcile, unwantedSandboxes } from '@torpor/state-machines'
import type { Context } from '../context.ts'
import { systemCommand } from '../entities/system-command.ts'
import { askNode } from './ask-node.ts'

/**
 * Compares the log with what a node has, and says what the difference proves. Only actors whose state did not change while
 * the node was asked are judged: for them question and answer are about the same state.
 */
export async function inquire(context: Context, node: string): Promise<void> {
  const before = actorsOn(context, node)
  const reply = await askNode<Inventory>(context, node, 'Inventory', {})
  if (!reply.ok) return
  for (const { ref, actor } of before) {
    const now = context.host.peek(ref)
    if (now === undefined || isGone(now) || (now as Actor).version !== actor.version) continue
    for (const proof of reconcile(actor, reply.result)) {
      const facts = { node, actorUid: actor.uid }
      await context.host
        .submit(systemCommand(context, ref, proof.type, proof.data, { facts }))
        .catch((cause: unknown) =>
          context.note('warn', 'a proof waits for the log', { cause: String(cause) }),
        )
    }
  }
  await endStrangers(context, node, reply.result)
}

/**
 * Ends sandboxes of owned shards that the log does not want on this node: of actors that have crashed, moved on or are gone.
 * Each is ended by its own assignment, so that one which began since the node was asked is never meant. One that is younger
 * than what this owner knows proves that another owner began it: that one is left alone.
 */
async function endStrangers(context: Context, node: string, inventory: Inventory): Promise<void> {
  for (const sandbox of inventory.sandboxes) {
    const ref = refOf(sandbox)
    if (!context.host.owns(context.host.shardOf(ref))) continue
    // Read, not peeked: answered only while the shard is held for sure.
    const { state, version } = await context.host.read(ref)
    const actor = state === undefined || isGone(state) ? undefined : (state as Actor)
    const known = actor?.uid === sandbox.actorUid
    const isYounger = known && sandbox.sequence > version
    if (isYounger || (known && !unwantedSandboxes(actor, inventory).includes(sandbox))) continue
    const { actorUid, atespace, name, epoch, sequence } = sandbox
    await askNode(context, node, 'Terminate', { actorUid, atespace, name, epoch, sequence })
  }
}

const refOf = (sandbox: { readonly atespace: string; readonly name: string }): EntityRef => ({
  kind: 'actor',
  atespace: sandbox.atespace,
  name: sandbox.name,
})

function actorsOn(
  context: Context,
  node: string,
): readonly { readonly ref: EntityRef; readonly actor: Actor }[] {
  return context.actorsByNode.of(node).flatMap((ref) => {
    const state = context.host.peek(ref)
    return state === undefined || isGone(state) ? [] : [{ ref, actor: state as Actor }]
  })
}
