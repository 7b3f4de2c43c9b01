/** The headers of our own on the way from client over router and gate to an actor. */
export const HTTP_HEADERS = {
  /** Client to router: `<atespace>/<actor>`, instead of a Host that names them. */
  targetActor: 'torpor-target-actor',
  /** Client to router to gate: the port of the actor that is meant, where it is not the default one. */
  targetPort: 'torpor-target-port',
  /** Router to gate: the execution that the router believes to be current, `<uid>.<epoch>.<sequence>`. */
  assignment: 'torpor-assignment',
  /** Router to gate: no request of a client; answered 204 when the execution serves, 421 when it will not. */
  knock: 'torpor-knock',
  /** Router to gate: the client itself waits for `100 Continue`, so the actor is asked, not the gate. */
  clientExpects: 'torpor-client-expects',
  /** On an answer that a gate or router made itself: the code of the registry. Never an actor's. */
  error: 'torpor-error',
} as const

/** Meant for one connection only (RFC 9110 §7.6.1), never sent on. `expect` is settled hop by hop here, too. */
const HOP_BY_HOP: ReadonlySet<string> = new Set([
  'connection',
  'keep-alive',
  'proxy-connection',
  'proxy-authenticate',
  'proxy-authorization',
  'te',
  'transfer-encoding',
  'upgrade',
  'http2-settings',
  'expect',
  'trailer',
])

/** A client must not take these away by naming them in `Connection`: message length and authority hang on them. */
const KEPT: ReadonlySet<string> = new Set(['content-length', 'host'])

/**
 * The headers that the next hop gets, in the flat form of `rawHeaders`: spelling, order and repetitions stay; what is
 * meant for one hop, what `Connection` names and what `drop` names (in lower case) goes.
 * @example endToEndHeaders(['Host', 'a', 'TE', 'x']) // ['Host', 'a']
 */
export function endToEndHeaders(rawHeaders: readonly string[], drop?: ReadonlySet<string>): string[] {
  const named = namedInConnection(rawHeaders)
  const headers: string[] = []
  for (let index = 0; index + 1 < rawHeaders.length; index += 2) {
    const name = rawHeaders[index] ?? ''
    const key = name.toLowerCase()
    if (HOP_BY_HOP.has(key) || drop?.has(key) === true) continue
    if (named !== undefined && named.has(key) && !KEPT.has(key)) continue
    headers.push(name, rawHeaders[index + 1] ?? '')
  }
  return headers
}

/** How often a header stands in a request: more than one `Host` is an attack, not a request. */
export function countHeader(rawHeaders: readonly string[], key: string): number {
  let count = 0
  for (let index = 0; index < rawHeaders.length; index += 2) {
    if (rawHeaders[index]?.toLowerCase() === key) count += 1
  }
  return count
}

function namedInConnection(rawHeaders: readonly string[]): ReadonlySet<string> | undefined {
  let named: Set<string> | undefined
  for (let index = 0; index + 1 < rawHeaders.length; index += 2) {
    if (rawHeaders[index]?.toLowerCase() !== 'connection') continue
    const value = (rawHeaders[index + 1] ?? '').toLowerCase()
    if (value === 'keep-alive' || value === 'close') continue
    named ??= new Set()
    for (const token of value.split(',')) named.add(token.trim())
  }
  return named
}
