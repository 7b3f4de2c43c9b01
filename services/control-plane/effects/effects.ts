import type { Commit } from '@torpor/actor-host'
import type { Actor, EntityRef, Node, WorkerPool } from '@torpor/contracts'
import { isGone } from '@torpor/contracts'
import type { Context } from '../context.ts'
import { followWishes } from './long-wishes.ts'
import type { LongWishes } from './long-wishes.ts'
import { announceLostNode, watchSilentNodes } from './lost-nodes.ts'
import { ANY_NODE, driveNodes } from './node-actions.ts'
import type { NodeActions } from './node-actions.ts'
import { inquire } from './node-inquiries.ts'
import { nodesOf } from './node-leases.ts'
import { correctWorkers, placeWorkers, poolsHere } from './pool-workers.ts'

/**
 * What a control plane does because of what the log says. Each effect looks at committed state only, is idempotent, and is
 * run by three things: a commit, a shard that is taken over, and the clock.
 */
export function runEffects(context: Context): { close(): void } {
  const actions = driveNodes(context)
  const wishes = followWishes(context)
  const react = (ref: EntityRef, state: unknown) => {
    if (ref.kind === 'actor') actions.drive(ref, state)
    wishes.see(ref, state)
    if (state === undefined || isGone(state)) return
    if (ref.kind === 'worker-pool') settle(context, placeWorkers(context, state as WorkerPool))
    if (ref.kind === 'node' && (state as Node).state === 'NODE_STATE_LOST') {
      settle(context, announceLostNode(context, ref.name))
    }
  }
  context.host.onCommitted((commit) => {
    react(commit.ref, commit.after)
    reactToEvent(context, actions, commit)
  })
  context.host.onOwned((shard) => {
    for (const { ref, state } of context.host.entities(shard)) react(ref, state)
  })
  for (const shard of context.host.ownedShards()) {
    for (const { ref, state } of context.host.entities(shard)) react(ref, state)
  }
  context.capacities.onNews((capacity) => {
    settle(context, correctWorkers(context, capacity))
    for (const pool of poolsHere(context)) settle(context, placeWorkers(context, pool))
  })
  const cancels = [
    every(context, context.limits.reconcileMs, () => reconcileAll(context, actions, wishes)),
    every(context, context.limits.capacityPublishMs, () => watchSilentNodes(context)),
  ]
  return { close: () => cancels.forEach((cancel) => cancel()) }
}

/** A deadline decides nothing: the actor's nodes are asked, and asked once more to do what is wanted. */
function reactToEvent(context: Context, actions: NodeActions, { ref, event }: Commit): void {
  if (event.type === 'NodeJoined') settle(context, inquire(context, ref.name))
  if (event.type !== 'TimerFired' || !event.data.id.startsWith('deadline')) return
  const state = context.host.peek(ref)
  actions.driveAgain(ref, state)
  const node = state === undefined || isGone(state) ? undefined : (state as Actor).worker?.node
  if (node !== undefined) settle(context, inquire(context, node))
}

async function reconcileAll(context: Context, actions: NodeActions, wishes: LongWishes): Promise<void> {
  const driveAgain = (node: string) => {
    for (const ref of context.actorsByNode.of(node)) actions.driveAgain(ref, context.host.peek(ref))
  }
  driveAgain(ANY_NODE)
  for (const { node } of context.capacities.all()) {
    await inquire(context, node)
    driveAgain(node)
  }
  for (const node of nodesOf(context.host)) {
    if (node.state === 'NODE_STATE_LOST') await announceLostNode(context, node.name)
  }
  wishes.again()
}

/** Effects are repeated by the clock: one that failed is noted, not thrown. */
function settle(context: Context, effect: Promise<unknown>): void {
  effect.catch((cause: unknown) =>
    context.note('warn', 'an effect will be tried again', { cause: String(cause) }),
  )
}

function every(context: Context, intervalMs: number, run: () => Promise<void>): () => void {
  let cancel = (): void => undefined
  let closed = false
  const round = () => {
    cancel = context.clock.after(intervalMs, () => {
      void run()
        .catch((cause: unknown) => context.note('warn', 'a round failed', { cause: String(cause) }))
        .then(() => closed || round())
    })
  }
  round()
  return () => {
    closed = true
    cancel()
  }
}
