import type { Actor, DecisionContext, DomainEvent } from '@torpor/contracts'
import { LIMITS } from '@torpor/contracts'
import { revertEvents } from './revert-actor.ts'

/**
 * What follows a crash by `crashPolicy`: nothing (manual), a revert, or a revert and a wake. The crash has ended the
 * sandbox, so a revert has nothing to wait for. Restarts that follow one another too closely end in CRASHED.
 */
export function healingEvents(actor: Actor, context: DecisionContext): readonly DomainEvent[] {
  const { crashPolicy } = actor.spec
  if (actor.golden || crashPolicy === 'manual') return []
  if (crashPolicy === 'restart' && restartsInRow(actor, context.nowMs) >= LIMITS.restartsMax) return []
  return revertEvents({ snapshots: actor.snapshots }, crashPolicy === 'restart', context)
}

const restartsInRow = ({ restarts }: Actor, nowMs: number): number =>
  restarts !== undefined && nowMs - restarts.lastAtMs < LIMITS.restartWindowMs ? restarts.count : 0
