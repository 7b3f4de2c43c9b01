import type { Clock, Refusal } from '@torpor/contracts'
import type { ErrorExtras } from '@torpor/contracts/http'
import type { Address } from '../domain/address.ts'
import type { Route, RouteCache } from '../domain/route-cache.ts'
import type { Gates } from '../gate-request.ts'
import type { Parking } from '../parking/parking.ts'

/** What the handlers of a router share. */
export type RouterWorld = {
  readonly domain: string
  readonly clock: Clock
  readonly gates: Gates
  readonly routes: RouteCache
  readonly parking: Parking
  readonly routeTimeoutMs: number
}

/** One request (or upgrade) on its way: how it is sent to a gate, and how it is answered otherwise. */
export type Exchange = {
  readonly address: Address
  /** Sends it to a gate; `moved` is called when the gate did not let it in and nothing of it was consumed. */
  readonly send: (route: Route, moved: () => void) => void
  readonly refuse: (refusal: Refusal, extras?: ErrorExtras) => void
  /** Calls when the client has gone; the returned function ends that. */
  readonly onGone: (call: () => void) => () => void
}
