import type { Actor, Decision, DecisionContext } from '@torpor/contracts'
import { LIMITS, accept, refuse, reject } from '@torpor/contracts'
import type { AdmissionFacts, ResumeActorFacts, Rule } from '../commands.ts'
import { isCompleted, newestSnapshot } from '../snapshots.ts'
import { hasCrashed, nameOf, stateConflict } from './refusals.ts'

/** A wake needs a node that admits the actor first; a second one joins the first. */
export const resumeActor: Rule<'ResumeActor'> = (actor, { trigger }, context, command) => {
  switch (actor.state) {
    case 'ACTOR_STATE_RUNNING':
    case 'ACTOR_STATE_RESUMING':
      return accept([])
    case 'ACTOR_STATE_CRASHED':
      return hasCrashed(actor)
    case 'ACTOR_STATE_SUSPENDED': {
      const { admission, refusal } = (command.facts ?? {}) as ResumeActorFacts
      if (refusal !== undefined) return reject(refusal)
      return start(actor, trigger, admission, context)
    }
    case 'ACTOR_STATE_SUSPENDING':
    case 'ACTOR_STATE_REVERTING':
    case 'ACTOR_STATE_DELETING':
      return stateConflict(actor)
  }
}

function start(
  actor: Actor,
  trigger: string,
  admission: AdmissionFacts | undefined,
  context: DecisionContext,
): Decision {
  if (admission === undefined) return reject(refuse('PLACEMENT_REQUIRED', nameOf(actor)))
  const newest = newestSnapshot(actor)
  if (newest !== undefined && !isCompleted(newest) && newest.locality !== admission.node) {
    // The node was asked about an older state: the newest generation came to lie elsewhere in the meantime.
    const detail = `generation ${newest.generation} is on ${newest.locality} only, not on ${admission.node}`
    return reject(refuse('PLACEMENT_REQUIRED', nameOf(actor), detail))
  }
  const { node, worker, workerPool, gateAddress } = admission
  const data = {
    epoch: context.epoch,
    sequence: context.version + 1,
    node,
    worker,
    workerPool,
    gateAddress,
    generation: newest?.generation ?? 0,
    trigger,
    deadlineAtMs: context.nowMs + LIMITS.resumeDeadlineMs,
  }
  return accept([{ type: 'ActorResumeStarted', data }])
}
