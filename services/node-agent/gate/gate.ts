/**
 * The gate of a node: the only party that connects to its sandboxes, and the one that counts what is open there.
 *
 * (G1) A request enters only with the assignment that is current here; any other gets 421 before a byte of its body is
 * read, so a router can send it elsewhere. (G2) Everything that reaches a sandbox is counted at its door.
 * (G3) A closed door means: no request inside, no connection open or being opened. (G4) A router may wait for a door to
 * open; that lets nothing in.
 */
import type { IncomingMessage, ServerResponse } from 'node:http'
import type { Clock, DrainMode } from '@torpor/contracts'
import { refuse } from '@torpor/contracts'
import { HTTP_HEADERS, parseHostPort } from '@torpor/contracts/http'
import type { CloseOutcome, GateActor } from './door.ts'
import { Door } from './door.ts'
import type { GateLimits } from './gate-limits.ts'
import { gateLimits } from './gate-limits.ts'
import { Knocks, letKnow, turnAway } from './knocks.ts'
import type { Admission } from './listen-on.ts'
import { listenOn } from './listen-on.ts'

export type { CloseOutcome, GateActor } from './door.ts'
export type { GateLimits } from './gate-limits.ts'

export interface Gate {
  /** `host:port`. */
  readonly address: string
  /** Lets requests with this assignment in. An earlier execution of the actor is over: who is still inside is cut. */
  open(actor: GateActor): void
  /**
   * Lets nobody in any more. `drain` waits up to `drainMs` for open requests, then cuts the rest; `force` cuts at once;
   * `refuse` changes nothing when one is open. Resolves as drained only when nothing to the sandbox is open or being
   * opened; an actor that the gate does not know is drained.
   */
  close(
    actorUid: string,
    options: { readonly drain: DrainMode; readonly drainMs: number },
  ): Promise<CloseOutcome>
  /** Takes `close` back: the same execution goes on. */
  reopen(actorUid: string): void
  /** The sandbox is gone, or never came: who is inside gets `ACTOR_EXITED`, who knocked 421. */
  remove(actorUid: string): void
  openCount(actorUid: string): number
  /** Milliseconds since the last request ended; 0 while one is open. */
  idleMs(actorUid: string): number
  /** Answers 421 to everything from now on, until `thaw`. What is open stays. */
  freeze(): void
  thaw(): void
  /** Cuts what is open and closes the listener. */
  stop(): Promise<void>
}

export type GateOptions = {
  /** `host:port`; port 0 takes a free one. */
  readonly listen: string
  readonly clock: Clock
  readonly limits?: Partial<GateLimits>
}

/**
 * Starts a gate.
 * @example
 * const gate = await startGate({ listen: '0.0.0.0:7070', clock: systemClock })
 * gate.open({ actorUid, atespace: 'demo', name: 'x', assignment, ipAddress: '10.0.0.2', defaultPort: 80, ports: [80] })
 */
export async function startGate({ listen, clock, limits: some }: GateOptions): Promise<Gate> {
  const limits = gateLimits(some)
  const doors = new Map<string, Door>()
  const byToken = new Map<string, Door>()
  const knocks = new Knocks(clock, limits)
  let frozen = false

  const forget = (door: Door | undefined): void => {
    if (door === undefined) return
    if (doors.get(door.actor.actorUid) === door) doors.delete(door.actor.actorUid)
    byToken.delete(door.token)
    void door.end('ACTOR_EXITED')
  }
  const admit = (incoming: IncomingMessage): Admission => {
    const token = tokenOf(incoming)
    const door = byToken.get(token)
    if (frozen || door === undefined || !door.isOpen) return refuse('ASSIGNMENT_STALE', token || 'request')
    return admitPort(door, incoming.headers[HTTP_HEADERS.targetPort])
  }

  const knock = (incoming: IncomingMessage, answer: ServerResponse): void => {
    const token = tokenOf(incoming)
    const actorUid = token.slice(0, Math.max(0, token.indexOf('.')))
    const door = doors.get(actorUid)
    if (frozen || actorUid === '') return turnAway(answer, token)
    if (door === undefined || (door.token !== token && !door.isOpen))
      return knocks.wait(actorUid, token, answer)
    return door.token === token && door.isOpen ? letKnow(answer) : turnAway(answer, token)
  }

  const server = await listenOn(parseHostPort(listen), limits, admit, knock)
  return {
    address: server.address,
    open(actor) {
      forget(doors.get(actor.actorUid))
      const door = new Door(actor, clock, limits)
      doors.set(actor.actorUid, door)
      byToken.set(door.token, door)
      knocks.open(actor.actorUid, door.token)
    },
    close: async (actorUid, { drain, drainMs }) =>
      (await doors.get(actorUid)?.close(drain, drainMs)) ?? { kind: 'drained', cut: 0 },
    reopen: (actorUid) => doors.get(actorUid)?.reopen(),
    remove(actorUid) {
      forget(doors.get(actorUid))
      knocks.turnAway(actorUid)
    },
    openCount: (actorUid) => doors.get(actorUid)?.openCount ?? 0,
    idleMs: (actorUid) => doors.get(actorUid)?.idleMs ?? 0,
    freeze: () => void (frozen = true),
    thaw: () => void (frozen = false),
    async stop() {
      frozen = true
      knocks.turnAllAway()
      await Promise.all([...doors.values()].map((door) => door.end('REQUEST_CUT')))
      await server.stop()
    },
  }
}

const tokenOf = (incoming: IncomingMessage): string => String(incoming.headers[HTTP_HEADERS.assignment] ?? '')

function admitPort(door: Door, wanted: string | string[] | undefined): Admission {
  const { atespace, name, defaultPort, ports } = door.actor
  const port = wanted === undefined ? defaultPort : Number(wanted)
  const id = `${atespace}/${name}`
  if (port !== defaultPort && !ports.includes(port)) {
    return refuse('ADDRESS_INVALID', id, `has no port ${JSON.stringify(wanted)}`)
  }
  return door.isFull ? refuse('LOT_FULL', id, 'open requests of this actor') : { door, port }
}
