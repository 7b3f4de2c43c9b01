import type { Refusal } from '@torpor/contracts'
import type { ErrorExtras } from '@torpor/contracts/http'
import type { Address } from '../domain/address.ts'
import type { Route } from '../domain/route-cache.ts'

/** What parking ends with. `gone`: the client went away. */
export type Parked =
  | { readonly kind: 'route'; readonly route: Route }
  | { readonly kind: 'refused'; readonly refusal: Refusal; readonly extras: ErrorExtras }
  | { readonly kind: 'gone' }

/** One parked request. */
export type Waiter = {
  /** The route that did not let this request in. */
  readonly stale: Route | undefined
  /** How often this request was not let in. */
  readonly tries: number
  readonly end: (parked: Parked) => void
  cancelTimer: () => void
  /** Its budget for getting a place is over; it waits only for an attempt that is under way. */
  overBudget: boolean
}

/** Everything that waits for one actor: one wake at a time, whatever the number of requests. */
export type Flight = {
  readonly address: Address
  /** Of arrival among flights. */
  readonly order: number
  commandId: string
  /** `asking` while a wake is under way, else what it waits for. */
  state: 'asking' | 'awaitCapacity' | 'backOff'
  attempt: number
  lastRefusal: Refusal | undefined
  readonly waiters: Set<Waiter>
  cancelTimer: () => void
}
