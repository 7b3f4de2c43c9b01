import type { ClientRequest, IncomingMessage } from 'node:http'
import { Agent, request } from 'node:http'
import type { Clock } from '@torpor/contracts'
import { endToEndHeaders, framingHeaders, hasBody, HTTP_HEADERS } from '@torpor/contracts/http'
import type { Address } from './domain/address.ts'
import type { Route } from './domain/route-cache.ts'

/** A client must not bring these; the router says them itself. */
const ROUTER_HEADERS: ReadonlySet<string> = new Set([
  ...Object.values(HTTP_HEADERS),
  'forwarded',
  'x-forwarded-for',
])

/** What a gate may add to the head of an actor's answer. */
const GATE_HEADER_BYTES_MAX = 4 * 1024

export type GateRequestLimits = {
  readonly gateConnectTimeoutMs: number
  readonly requestHeaderBytesMax: number
  readonly routerIdleConnectionsPerGateMax: number
  readonly routerIdleConnectionMs: number
}

/** The connections of a router to its gates: kept alive, whichever actor they serve. */
export type Gates = { readonly agent: Agent; readonly limits: GateRequestLimits; readonly clock: Clock }

export const createGates = (limits: GateRequestLimits, clock: Clock): Gates => ({
  limits,
  clock,
  agent: new Agent({
    keepAlive: true,
    maxFreeSockets: limits.routerIdleConnectionsPerGateMax,
    timeout: limits.routerIdleConnectionMs,
    scheduling: 'lifo',
  }),
})

/**
 * Begins the request to a gate. With a body, it asks for `100 Continue`: the gate says it only when it has admitted the
 * request, so a body is never sent to a gate that refuses it, and can still be sent to another.
 */
export function requestGate(
  gates: Gates,
  incoming: IncomingMessage,
  address: Address,
  route: Route,
  extra: readonly string[],
): ClientRequest {
  const outgoing = request({
    agent: gates.agent,
    host: route.gate.host,
    port: route.gate.port,
    method: incoming.method,
    path: pathOf(incoming.url ?? '/'),
    maxHeaderSize: gates.limits.requestHeaderBytesMax + GATE_HEADER_BYTES_MAX,
    headers: [...headersFor(incoming, address), HTTP_HEADERS.assignment, route.token, ...extra],
  })
  connectInTime(outgoing, gates)
  return outgoing
}

/** Gives up a connection to a gate that does not come about within `gateConnectTimeoutMs`. */
export function connectInTime(outgoing: ClientRequest, { clock, limits }: Gates): void {
  outgoing.once('socket', (socket) => {
    if (!socket.connecting) return
    const giveUp = (): void =>
      void socket.destroy(Object.assign(new Error('connect timed out'), { code: 'ETIMEDOUT' }))
    socket.once('connect', clock.after(limits.gateConnectTimeoutMs, giveUp))
  })
}

/** How the body of a request comes, and that it waits for the gate. */
export function bodyHeaders(incoming: IncomingMessage): string[] {
  if (!hasBody(incoming)) return framingHeaders(incoming)
  const asked = incoming.headers.expect === undefined ? [] : [HTTP_HEADERS.clientExpects, '1']
  return [...framingHeaders(incoming), 'Expect', '100-continue', ...asked]
}

/** Authority of a request: of its target where that is absolute (RFC 9112 §3.2.2), else its `Host`. */
export function hostOf(incoming: IncomingMessage): string | undefined {
  const absolute = /^https?:\/\/([^/?#]*)/i.exec(incoming.url ?? '')
  return absolute === null ? incoming.headers.host : absolute[1]
}

const pathOf = (url: string): string => {
  const path = url.replace(/^https?:\/\/[^/?#]*/i, '')
  return path === '' ? '/' : path.startsWith('?') ? `/${path}` : path
}

function headersFor(incoming: IncomingMessage, address: Address): string[] {
  const headers = endToEndHeaders(incoming.rawHeaders, ROUTER_HEADERS)
  const host = hostOf(incoming)
  const client = incoming.socket.remoteAddress ?? 'unknown'
  const before = incoming.headers['x-forwarded-for']
  const forwarded = `for=${quoted(client)}${host === undefined ? '' : `;host=${quoted(host)}`};proto=http`
  if (incoming.headers.host === undefined) headers.push('Host', host ?? address.key.replace('/', '.'))
  headers.push('X-Forwarded-For', before === undefined ? client : `${String(before)}, ${client}`)
  headers.push('Forwarded', [incoming.headers.forwarded, forwarded].filter(Boolean).join(', '))
  if (incoming.headers['x-forwarded-proto'] === undefined) headers.push('X-Forwarded-Proto', 'http')
  if (incoming.headers['x-forwarded-host'] === undefined && host !== undefined) {
    headers.push('X-Forwarded-Host', host)
  }
  if (address.targetPort !== undefined) headers.push(HTTP_HEADERS.targetPort, address.targetPort)
  return headers
}

/** RFC 7239: what is no token stands in quotes, IPv6 addresses in brackets too. */
function quoted(value: string): string {
  if (/^[\w.-]+$/.test(value)) return value
  const text = value.includes(':') && /^[0-9a-f:.]+$/i.test(value) ? `[${value}]` : value
  return `"${text.replace(/["\\]/g, '\\$&')}"`
}
