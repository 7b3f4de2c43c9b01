import { formatAssignment } from '@torpor/contracts'
import type { HostPort } from '@torpor/contracts/http'
import { parseHostPort } from '@torpor/contracts/http'
import type { Placed } from '../wake.ts'

/** Where an actor was last known to run. Advisory: the gate there decides. */
export type Route = {
  /** The assignment as the gate wants it. */
  readonly token: string
  readonly gate: HostPort
}

export const routeOf = ({ assignment, gateAddress }: Placed): Route => ({
  token: formatAssignment(assignment),
  gate: parseHostPort(gateAddress),
})

export type RouteCache = {
  get(key: string): Route | undefined
  set(key: string, route: Route): void
  /** Forgets the route of an actor, unless it was replaced meanwhile. */
  forget(key: string, route: Route): void
}

/** Keeps at most `routesMax` routes; the one that was learned first goes first. */
export function createRouteCache(routesMax: number): RouteCache {
  const routes = new Map<string, Route>()
  return {
    get: (key) => routes.get(key),
    set(key, route) {
      routes.delete(key)
      routes.set(key, route)
      for (const oldest of routes.keys()) {
        if (routes.size <= routesMax) break
        routes.delete(oldest)
      }
    },
    forget(key, route) {
      if (routes.get(key) === route) routes.delete(key)
    },
  }
}
