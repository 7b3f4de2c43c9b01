import type { Refusal } from '@torpor/contracts'
import { refuse } from '@torpor/contracts'
import type { Address } from '../domain/address.ts'
import type { Route } from '../domain/route-cache.ts'
import type { Exchange, RouterWorld } from './exchange.ts'

/**
 * Finds the way of a request: the known route, else the one that a wake answers. A gate that does not let it in (421, or
 * nobody there) makes the router forget the route and park the request; that ends with the budget of the parking, which
 * begins once per request.
 */
export function routeExchange(world: RouterWorld, exchange: Exchange): void {
  const known = world.routes.get(exchange.address.key)
  if (known !== undefined) send(world, exchange, known, undefined)
  else park(world, exchange, { sinceMs: world.clock.monotonicMs(), tries: 0, stale: undefined })
}

/** Since when, and after how many closed gates, a request looks for its actor. */
type Search = { readonly sinceMs: number; readonly tries: number; readonly stale: Route | undefined }

function send(world: RouterWorld, exchange: Exchange, route: Route, search: Search | undefined): void {
  exchange.send(route, () => {
    world.routes.forget(exchange.address.key, route)
    const sinceMs = search?.sinceMs ?? world.clock.monotonicMs()
    park(world, exchange, { sinceMs, tries: (search?.tries ?? 0) + 1, stale: route })
  })
}

function park(world: RouterWorld, exchange: Exchange, search: Search): void {
  const { address } = exchange
  // Another request may have learned the new way meanwhile.
  const known = world.routes.get(address.key)
  if (known !== undefined && known.token !== search.stale?.token) return send(world, exchange, known, search)
  let stopWatching = (): void => undefined
  const { leave } = world.parking.park({ address, ...search }, (parked) => {
    stopWatching()
    if (parked.kind === 'route') send(world, exchange, parked.route, search)
    else if (parked.kind === 'refused') exchange.refuse(parked.refusal, parked.extras)
  })
  stopWatching = exchange.onGone(leave)
}

/** What a client is told when the connection to a gate fails and the request cannot be sent again. */
export const gateFailed = ({ key }: Address, error: Error): Refusal =>
  refuse(
    'NODE_UNAVAILABLE',
    key,
    `the way to its node broke: ${(error as NodeJS.ErrnoException).code ?? error.message}`,
  )
