import type { Actor, EntityRef } from '@torpor/contracts'
import { isGone } from '@torpor/contracts'
import { planNodeActions } from '@torpor/state-machines'
import type { NodeAction } from '@torpor/state-machines'
import type { Context } from '../context.ts'
import { systemCommand } from '../entities/system-command.ts'
import { askNode } from './ask-node.ts'

/**
 * Makes nodes do what the log says: after each commit, and again every `reconcileMs` while it is still wanted. The plan is
 * pure and level-triggered, so a new owner, a node that comes back and a restart all do the same thing.
 */
export type NodeActions = {
  /** Sends what the actor's state wants and is not under way. */
  drive(ref: EntityRef, state: unknown): void
  /** Sends again what is wanted still, though it was taken before. */
  driveAgain(ref: EntityRef, state: unknown): void
}

/** Where an action may be done by any node. */
export const ANY_NODE = ''

export function driveNodes(context: Context): NodeActions {
  const taken = new Map<string, Set<string>>()
  const send = (ref: EntityRef, state: unknown, again: boolean) => {
    if (ref.kind !== 'actor' || state === undefined || isGone(state)) return
    const actor = state as Actor
    if (actor.state !== 'ACTOR_STATE_RESUMING') context.prepareIds.delete(actor.uid)
    const wanted = planNodeActions(actor)
    const before = taken.get(actor.uid) ?? new Set<string>()
    if (wanted.length === 0) return void taken.delete(actor.uid)
    taken.set(actor.uid, new Set(wanted.map(({ key }) => key)))
    for (const action of wanted) {
      if (again || !before.has(action.key)) void act(context, ref, actor, action)
    }
  }
  return {
    drive: (ref, state) => send(ref, state, false),
    driveAgain: (ref, state) => send(ref, state, true),
  }
}

async function act(context: Context, ref: EntityRef, actor: Actor, action: NodeAction): Promise<void> {
  const node = action.node === ANY_NODE ? context.capacities.all()[0]?.node : action.node
  if (node === undefined) return
  const reply = await askNode(context, node, action.verb, withPrepareId(context, actor, action))
  if (reply.ok || reply.error.retry !== 'never') return
  context.note('warn', `${node} refuses ${action.verb}: ${reply.error.message}`, { actor: ref.name })
  if (action.verb !== 'Go') return
  const { epoch = 0, sequence = 0 } = actor.worker ?? {}
  const { code, message } = reply.error
  await context.host.submit(systemCommand(context, ref, 'AbandonResume', { epoch, sequence, code, message }))
}

function withPrepareId(context: Context, actor: Actor, action: NodeAction): unknown {
  if (action.verb !== 'Go') return action.data
  return { ...(action.data as object), prepareId: context.prepareIds.get(actor.uid) ?? '' }
}
