/**
 * The router: finds the actor of a request or wakes it, parks the request meanwhile, and passes it to the gate of its
 * node. It keeps no state that another router would need: what it caches, the gates check.
 */
import type { IncomingMessage, Server } from 'node:http'
import { createServer } from 'node:http'
import type { Socket } from 'node:net'
import type { Clock, Random, Refusal } from '@torpor/contracts'
import { LIMITS, refuse, uuidV7 } from '@torpor/contracts'
import {
  answerOn,
  answerRefusal,
  countHeader,
  formatHostPort,
  HTTP_HEADERS,
  isForeignUpgrade,
  parseHostPort,
} from '@torpor/contracts/http'
import type { Address } from './domain/address.ts'
import { readAddress } from './domain/address.ts'
import { createRouteCache } from './domain/route-cache.ts'
import { createGates, hostOf } from './gate-request.ts'
import type { RouterWorld } from './handlers/exchange.ts'
import { refuseMalformed } from './handlers/refuse-malformed.ts'
import { serveOwn } from './handlers/serve-own.ts'
import { serveRequest } from './handlers/serve-request.ts'
import { serveUpgrade } from './handlers/serve-upgrade.ts'
import { wakeAtGate } from './knock.ts'
import { Parking } from './parking/parking.ts'
import type { RouterLimits } from './router-limits.ts'
import type { Wake, WatchCapacity } from './wake.ts'
import { OpenConnections } from './open-connections.ts'

export type RouterOptions = {
  /** `host:port`; port 0 takes a free one. */
  readonly listen: string
  /** Actors are `ACTOR.ATESPACE.<domain>`. */
  readonly domain: string
  readonly wake: Wake
  readonly watchCapacity: WatchCapacity
  readonly clock: Clock
  readonly random: Random
  readonly limits?: Partial<RouterLimits>
}

export interface Router {
  /** `http://host:port`. */
  readonly url: string
  /** Requests that wait for their actor now. */
  readonly parked: number
  /** Takes nothing new, lets open requests end within `routerDrainMs`, cuts the rest. */
  stop(): Promise<void>
}

/**
 * Starts a router.
 * @example await startRouter({ listen: '0.0.0.0:8080', domain: 'actors.localhost', wake: wakeOverBus(bus, clock), … })
 */
export async function startRouter(options: RouterOptions): Promise<Router> {
  const { clock, random, watchCapacity } = options
  const limits: RouterLimits = { ...LIMITS, ...options.limits }
  const routes = createRouteCache(limits.routesMax)
  const gates = createGates(limits, clock)
  const newId = (): string => uuidV7(clock, random)
  const wake = wakeAtGate(options.wake, gates)
  const parking = new Parking({ wake, watchCapacity, clock, newId, limits, learn: routes.set })
  const world = {
    domain: options.domain,
    clock,
    gates,
    routes,
    parking,
    routeTimeoutMs: limits.routeTimeoutMs,
  }
  const server = createServer({
    maxHeaderSize: limits.requestHeaderBytesMax,
    headersTimeout: limits.requestHeadTimeoutMs,
    connectionsCheckingInterval: Math.min(limits.requestHeadTimeoutMs, 1_000),
    // Bodies may take as long as they take; the head may not.
    requestTimeout: 0,
    keepAliveTimeout: limits.serverKeepAliveMs,
    // Answered by us, in JSON.
    requireHostHeader: false,
    shouldUpgradeCallback: isForeignUpgrade,
  })
  const open = new OpenConnections(server, clock)
  handleRequests(server, world, open)
  const url = await listen(server, options.listen)
  return {
    url,
    get parked() {
      return parking.parked
    },
    async stop() {
      await open.drain(limits.routerDrainMs, () => parking.close())
      gates.agent.destroy()
    },
  }
}

function handleRequests(server: Server, world: RouterWorld, open: OpenConnections): void {
  server.on('request', serve)
  server.on('checkContinue', serve)
  server.on('upgrade', (incoming, duplex, head) => {
    const socket = duplex as Socket
    open.addUpgraded(socket)
    const address = addressOf(incoming, world.domain)
    if (address === 'own') serveOwn(incoming, answerOn(incoming, socket), healthOf())
    else if ('code' in address) answerRefusal(answerOn(incoming, socket), address)
    else serveUpgrade(world, incoming, socket, head, address)
  })
  server.on('connect', (_incoming, socket) => {
    socket.on('error', () => undefined)
    refuseMalformed(new Error('CONNECT'), socket)
  })
  server.on('clientError', refuseMalformed)

  function serve(incoming: IncomingMessage, answer: import('node:http').ServerResponse): void {
    if (open.isDraining) answer.shouldKeepAlive = false
    const address = addressOf(incoming, world.domain)
    if (address === 'own') serveOwn(incoming, answer, healthOf())
    else if ('code' in address) answerRefusal(answer, address)
    else serveRequest(world, incoming, answer, address)
  }

  function healthOf() {
    return { status: open.isDraining ? 'draining' : 'ok', parked: world.parking.parked } as const
  }
}

function addressOf(incoming: IncomingMessage, domain: string): Address | Refusal | 'own' {
  if (countHeader(incoming.rawHeaders, 'host') > 1) return refuse('REQUEST_MALFORMED', 'request', 'two Hosts')
  return readAddress(
    {
      host: hostOf(incoming),
      targetActor: incoming.headers[HTTP_HEADERS.targetActor] as string | undefined,
      targetPort: incoming.headers[HTTP_HEADERS.targetPort] as string | undefined,
    },
    domain,
  )
}

async function listen(server: Server, at: string): Promise<string> {
  const { host, port } = parseHostPort(at)
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject)
    server.listen(port, host, () => resolve())
  })
  const bound = server.address()
  const taken = typeof bound === 'object' && bound !== null ? bound.port : port
  return `http://${formatHostPort({ host, port: taken })}`
}
