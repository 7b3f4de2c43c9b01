import { accept } from '@torpor/contracts'
import type { Rule } from '../commands.ts'

/**
 * A due time has come. A timer never decides: what it makes due is wanted of a node from now on (plan-node-actions.ts), and
 * a deadline makes the control plane ask. Fired early, an upload is only begun early. Gone already, nothing happens.
 */
export const fireTimer: Rule<'FireTimer'> = (actor, { id }) =>
  accept(actor.timers.some((timer) => timer.id === id) ? [{ type: 'TimerFired', data: { id } }] : [])
