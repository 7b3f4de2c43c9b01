import type { Actor, Decision, DecisionContext, DrainMode, SuspendMode } from '@torpor/contracts'
import { LIMITS, accept } from '@torpor/contracts'
import type { Rule, SuspendActorFacts } from '../commands.ts'
import { fenced, stateConflict } from './refusals.ts'

/** A suspend reserves the next generation; one that is asked for again joins, or finds the actor at rest. */
export const suspendActor: Rule<'SuspendActor'> = (actor, data, context, command) => {
  switch (actor.state) {
    case 'ACTOR_STATE_SUSPENDED':
    case 'ACTOR_STATE_SUSPENDING':
      return accept([])
    case 'ACTOR_STATE_RUNNING': {
      const { trigger = 'caller' } = (command.facts ?? {}) as SuspendActorFacts
      const { mode, drain, drainTimeout } = data
      return start(actor, { mode, drain, drainMs: drainTimeout, trigger }, context)
    }
    case 'ACTOR_STATE_CRASHED':
    case 'ACTOR_STATE_RESUMING':
    case 'ACTOR_STATE_REVERTING':
    case 'ACTOR_STATE_DELETING':
      return stateConflict(actor)
  }
}

/** Idle is a reason only while nothing asks: a request that came since makes the node refuse the suspend. */
export const reportIdleTimedOut: Rule<'ReportIdleTimedOut'> = (actor, data, context) => {
  const isOff = actor.spec.idleTimeout === 0 || actor.golden
  if (actor.state !== 'ACTOR_STATE_RUNNING' || isOff) return fenced(actor, data) ?? accept([])
  const options = { mode: 'async', drain: 'refuse', drainMs: LIMITS.drainMs, trigger: 'idle' } as const
  return fenced(actor, data) ?? start(actor, options, context)
}

type SuspendOptions = {
  readonly mode: SuspendMode
  readonly drain: DrainMode
  readonly drainMs: number
  readonly trigger: string
}

function start(actor: Actor, options: SuspendOptions, context: DecisionContext): Decision {
  const data = {
    ...options,
    generation: actor.lastAssignedGeneration + 1,
    deadlineAtMs: context.nowMs + LIMITS.suspendDeadlineMs,
  }
  return accept([{ type: 'ActorSuspendStarted', data }])
}
