import type { Refusal } from '@torpor/contracts'
import { LIMITS, refuse } from '@torpor/contracts'
import { readTransitions } from '../transition-table.ts'
import type { ParkedEventName, ParkedStateName } from './machine.ts'
import { parkedRequestMachine } from './machine.ts'

export const PARKED_TRANSITIONS = readTransitions<ParkedStateName, ParkedEventName>(parkedRequestMachine)

/** One request that waits for its actor. `parkMs`: its budget for being placed. */
export type ParkedRequest = {
  readonly state: ParkedStateName
  readonly sinceMs: number
  readonly parkMs: number
}

export const park = (nowMs: number, parkMs: number = LIMITS.parkMs): ParkedRequest => ({
  state: 'WAITING',
  sinceMs: nowMs,
  parkMs,
})

/** The request after something happened; one that has ended stays as it ended. */
export function moveParked(request: ParkedRequest, event: ParkedEventName): ParkedRequest {
  const state = PARKED_TRANSITIONS[request.state][event]
  return state === undefined ? request : { ...request, state }
}

/** When the request's patience ends: its budget, and more for a restore that runs already. */
export const patienceEndsAtMs = ({ state, sinceMs, parkMs }: ParkedRequest): number =>
  sinceMs + parkMs + (state === 'PLACED' ? LIMITS.parkPlacedExtraMs : 0)

/** The answer to a request whose patience has ended; undefined while it has some left, or has ended otherwise. */
export function expiryOf(request: ParkedRequest, actorName: string, nowMs: number): Refusal | undefined {
  const isOpen = request.state === 'WAITING' || request.state === 'PLACED'
  if (!isOpen || nowMs < patienceEndsAtMs(request)) return undefined
  return refuse(request.state === 'PLACED' ? 'WAKE_TIMEOUT' : 'NO_CAPACITY', actorName)
}
