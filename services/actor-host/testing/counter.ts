import type { Decider, Decision, DomainEvent, Gone, HostCommand, Timer } from '@torpor/contracts'
import { accept, displayName, isGone, refuse, reject } from '@torpor/contracts'

/** A deleted counter is remembered for this long. */
export const COUNTER_GONE_MS = 60_000

/**
 * A counter, the first example of a decider. The registry of events is closed, so it says what happens in words that are there:
 * `AtespaceCreated` it begins · `NodeSuspected` it counts on by `silentMs` · `SnapshotUploadFailed` an alarm is set for
 * `nextAttemptAtMs` with the note `lastError` · `TimerFired` the alarm rang · `AtespaceDeleted` it ends.
 */
export type Counter = {
  readonly uid: string
  readonly count: number
  readonly rang: number
  readonly timers: readonly Timer[]
}

export const counter: Decider<Counter> = {
  kind: 'actor',
  decide(command, state, context) {
    const name = displayName(command.target)
    if (command.type === 'Create') {
      if (state !== undefined && !isGone(state)) return reject(refuse('ALREADY_EXISTS', name))
      return accept([{ type: 'AtespaceCreated', data: { uid: context.newUid } }], { count: 0 })
    }
    if (state === undefined) return reject(refuse('ACTOR_UNKNOWN', name))
    if (isGone(state)) return reject(refuse('ACTOR_GONE', name))
    return decideOnCounter(command, state, context.nowMs)
  },
  evolve: (state, event) => evolve(state, event),
  timers: (state) => state.timers,
}

function decideOnCounter(command: HostCommand, state: Counter, nowMs: number): Decision {
  const data = command.data as { by?: number; times?: number; note?: string; atMs?: number; id?: string }
  switch (command.type) {
    case 'Count': {
      const { by = 1, times = 1 } = data
      if (by < 0) return reject(refuse('FIELD_UNKNOWN', `by ${by}`))
      const counted: DomainEvent = { type: 'NodeSuspected', data: { silentMs: by } }
      return accept(
        Array.from({ length: times }, () => counted),
        { count: state.count + by * times },
      )
    }
    case 'SetAlarm':
      return accept([alarmSet(data.atMs ?? nowMs, data.note ?? '')])
    case 'FireTimer':
      return accept(
        state.timers.some(({ id }) => id === data.id)
          ? [{ type: 'TimerFired', data: { id: String(data.id) } }]
          : [],
      )
    case 'Delete':
      return accept([{ type: 'AtespaceDeleted', data: { goneUntilMs: nowMs + COUNTER_GONE_MS } }])
    default:
      return accept([], { count: state.count })
  }
}

const alarmSet = (atMs: number, note: string): DomainEvent => ({
  type: 'SnapshotUploadFailed',
  data: { generation: 1, attempts: 1, nextAttemptAtMs: atMs, lastError: note },
})

function evolve(state: Counter | Gone | undefined, event: DomainEvent): Counter | Gone | undefined {
  if (event.type === 'AtespaceCreated') return { uid: event.data.uid, count: 0, rang: 0, timers: [] }
  if (state === undefined || isGone(state)) return state
  switch (event.type) {
    case 'NodeSuspected':
      return { ...state, count: state.count + event.data.silentMs }
    case 'SnapshotUploadFailed': {
      const dueAtMs = event.data.nextAttemptAtMs
      return { ...state, timers: [{ id: `alarm-${dueAtMs}`, kind: 'deadline', dueAtMs }] }
    }
    case 'TimerFired':
      return {
        ...state,
        rang: state.rang + 1,
        timers: state.timers.filter(({ id }) => id !== event.data.id),
      }
    case 'AtespaceDeleted':
      return { gone: true, uid: state.uid, untilMs: event.data.goneUntilMs }
    default:
      return state
  }
}
