import type { Atespace, Decider } from '@torpor/contracts'
import { LIMITS, accept, displayName, isGone, refuse, reject } from '@torpor/contracts'

/** What the control plane found out for a DeleteAtespace; absent where it has refused already. */
export type DeleteAtespaceFacts = { readonly empty?: boolean }

/** An atespace is there or not. */
export const atespaceDecider: Decider<Atespace> = {
  kind: 'atespace',

  decide(command, state, context) {
    const name = displayName(context.target)
    const atespace = isGone(state) ? undefined : state
    switch (command.type) {
      case 'CreateAtespace': {
        if (atespace !== undefined) return reject(refuse('ALREADY_EXISTS', name))
        const uid = context.newUid
        return accept([{ type: 'AtespaceCreated', data: { uid } }], { uid })
      }
      case 'DeleteAtespace': {
        if (atespace === undefined) return reject(refuse('ATESPACE_UNKNOWN', name))
        const { empty = true } = (command.facts ?? {}) as DeleteAtespaceFacts
        if (!empty) return reject(refuse('ATESPACE_NOT_EMPTY', name))
        const goneUntilMs = context.nowMs + LIMITS.goneMs
        return accept([{ type: 'AtespaceDeleted', data: { goneUntilMs } }], { uid: atespace.uid })
      }
      default:
        return reject(refuse('COMMAND_UNKNOWN', command.type))
    }
  },

  evolve(state, event, ref, { version, timeMs }) {
    if (event.type === 'AtespaceCreated') {
      return { uid: event.data.uid, name: ref.name, version, createTimeMs: timeMs }
    }
    if (event.type !== 'AtespaceDeleted' || state === undefined || isGone(state)) return state
    return { gone: true, uid: state.uid, untilMs: event.data.goneUntilMs }
  },

  timers: () => [],
}
