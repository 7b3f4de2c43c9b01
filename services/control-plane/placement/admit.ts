import type { Actor, Admission, Refusal } from '@torpor/contracts'
import { LIMITS, refuse, uuidV7 } from '@torpor/contracts'
import { newestSnapshot, rankWorkers } from '@torpor/state-machines'
import type { Context } from '../context.ts'
import { askNode } from '../effects/ask-node.ts'

/** Where an actor may run: what the node said, with the pool of its worker. */
export type Placement = Admission & { readonly workerPool: string }

/**
 * Finds a node that admits the actor: the planner ranks, each node in turn says yes or why not. Nothing is written; an
 * admission that is not used expires by itself.
 */
export async function admit(context: Context, actor: Actor): Promise<Placement | Refusal> {
  // A control plane that just began has heard of no node yet: each speaks once in `capacityPublishMs`.
  if (context.capacities.all().length === 0)
    await context.capacities.next(2 * context.limits.capacityPublishMs)
  const snapshot = newestSnapshot(actor)
  const plan = rankWorkers(context.capacities.all(), {
    actorUid: actor.uid,
    spec: actor.spec,
    lostNodes: context.lostNodes.all(),
    ...(snapshot === undefined ? {} : { snapshot }),
  })
  if ('refusal' in plan) return plan.refusal
  let last: Refusal | undefined
  for (const candidate of plan.ranked.slice(0, LIMITS.prepareCandidatesMax)) {
    const prepareId = uuidV7(context.clock, context.random)
    const reply = await askNode<Admission>(context, candidate.node, 'Prepare', {
      actorUid: actor.uid,
      atespace: actor.atespace,
      name: actor.name,
      prepareId,
      worker: candidate.worker,
      spec: actor.spec,
      templateUid: actor.template.uid,
      ...(snapshot === undefined ? {} : { snapshot }),
      ttlMs: LIMITS.prepareTtlMs,
    })
    if (reply.ok) return { ...reply.result, workerPool: candidate.workerPool }
    last = reply.error
  }
  return last ?? refuse('NO_CAPACITY', `${actor.atespace}/${actor.name}`)
}
