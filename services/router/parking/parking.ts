/**
 * Where requests wait for their actor.
 *
 * (P1) One flight per actor: at most one wake is under way, and its answer is for all that wait. (P2) A request waits at
 * most `parkMs` for a place, and `parkPlacedExtraMs` more only while a wake is under way. (P3) At most
 * `parkedRequestsMax` wait; one more is refused at once. (P4) Flights that found no room ask again when capacity changed,
 * atespaces taking turns, and at the latest after `rpcBackoffMsMax`. (P5) A flight that nobody waits for asks no more.
 * (P6) A request that gets the route again that did not let it in tries it again after a back-off that grows.
 */
import type { Clock, Refusal } from '@torpor/contracts'
import { isUndecided, LIMITS, refusalOf, refuse } from '@torpor/contracts'
import type { Address } from '../domain/address.ts'
import { createFairQueue } from '../domain/fair-queue.ts'
import type { Route } from '../domain/route-cache.ts'
import { routeOf } from '../domain/route-cache.ts'
import { afterBudget, stepAfter } from '../domain/wake-refusals.ts'
import type { Wake, WatchCapacity } from '../wake.ts'
import type { Flight, Parked, Waiter } from './flight.ts'

export type ParkingLimits = {
  readonly parkMs: number
  readonly parkPlacedExtraMs: number
  readonly parkedRequestsMax: number
  readonly wakeRetriesAtOnceMax: number
  readonly rpcBackoffMsMin: number
  readonly rpcBackoffMsMax: number
}

export type ParkingWorld = {
  readonly wake: Wake
  readonly watchCapacity: WatchCapacity
  readonly clock: Clock
  readonly newId: () => string
  readonly limits: ParkingLimits
  /** Told of every route that a wake answered. */
  readonly learn: (key: string, route: Route) => void
}

export type ParkRequest = {
  readonly address: Address
  /** When the request was parked first, of the monotonic clock: its budget goes on where it was. */
  readonly sinceMs: number
  /** The route that did not let it in, and how often that happened. */
  readonly stale?: Route | undefined
  readonly tries: number
}

export class Parking {
  readonly #world: ParkingWorld
  readonly #flights = new Map<string, Flight>()
  readonly #queue = createFairQueue<Flight>()
  readonly #unwatch: () => void
  #parked = 0
  #orders = 0
  #isTicking = false

  constructor(world: ParkingWorld) {
    this.#world = world
    this.#unwatch = world.watchCapacity(() => this.#release())
  }

  /** Requests that wait now. */
  get parked(): number {
    return this.#parked
  }

  /** Parks a request until its actor serves; `leave` takes it out again. */
  park(request: ParkRequest, end: (parked: Parked) => void): { leave: () => void } {
    const { limits, clock } = this.#world
    const { key } = request.address
    const leftMs = request.sinceMs + limits.parkMs - clock.monotonicMs()
    const refusal = this.#refuseEntry(key, leftMs)
    if (refusal !== undefined) {
      end(refusal)
      return { leave: () => undefined }
    }
    this.#parked += 1
    const waiter: Waiter = {
      stale: request.stale,
      tries: request.tries,
      end,
      cancelTimer: () => undefined,
      overBudget: false,
    }
    const flight = this.#flights.get(key) ?? this.#takeOff(request.address)
    flight.waiters.add(waiter)
    waiter.cancelTimer = clock.after(Math.max(0, leftMs), () => this.#budgetOver(flight, waiter))
    return { leave: () => this.#end(flight, waiter, { kind: 'gone' }) }
  }

  /** Ends all that wait, for a router that stops. */
  close(): void {
    this.#unwatch()
    for (const flight of this.#flights.values()) {
      this.#refuseAll(flight, refuse('NODE_UNAVAILABLE', flight.address.key, 'the router stops'))
    }
  }

  #refuseEntry(key: string, leftMs: number): Parked | undefined {
    const { parkedRequestsMax, parkPlacedExtraMs } = this.#world.limits
    if (this.#parked >= parkedRequestsMax) return refusedWith(refuse('LOT_FULL', key), this.#parked + 1)
    if (leftMs + parkPlacedExtraMs >= 0) return undefined
    return refusedWith(refuse('NODE_UNAVAILABLE', key, 'it moved each time it was found'))
  }

  #takeOff(address: Address): Flight {
    const flight: Flight = {
      address,
      order: (this.#orders += 1),
      commandId: this.#world.newId(),
      state: 'asking',
      attempt: 0,
      lastRefusal: undefined,
      waiters: new Set(),
      cancelTimer: () => undefined,
    }
    this.#flights.set(address.key, flight)
    void this.#ask(flight)
    return flight
  }

  async #ask(flight: Flight): Promise<void> {
    flight.state = 'asking'
    flight.attempt += 1
    try {
      const reply = await this.#world.wake(flight.address.ref, flight.commandId, 'serving')
      if (reply.ok) this.#landed(flight, routeOf(reply.result))
      else this.#refused(flight, reply.error)
    } catch (thrown) {
      this.#refused(flight, refusalOf(thrown))
    }
  }

  #landed(flight: Flight, route: Route): void {
    const waiters = [...flight.waiters]
    const again = waiters.filter(({ stale }) => stale?.token === route.token)
    this.#forget(flight)
    if (again.length === 0) this.#world.learn(flight.address.key, route)
    for (const waiter of waiters) {
      if (again.includes(waiter)) this.#waitForGate(flight, waiter, route)
      else this.#end(flight, waiter, { kind: 'route', route })
    }
    // One found room: so may the next.
    this.#release(1)
  }

  /** (P6): its gate may be starting anew, or shut for a suspend that the log does not know yet. */
  #waitForGate(flight: Flight, waiter: Waiter, route: Route): void {
    waiter.cancelTimer()
    if (waiter.overBudget) {
      const refusal = refuse('NODE_UNAVAILABLE', flight.address.key, 'its gate lets nothing in')
      return this.#end(flight, waiter, refusedWith(refusal))
    }
    waiter.cancelTimer = this.#after(waiter.tries, () => this.#end(flight, waiter, { kind: 'route', route }))
  }

  #refused(flight: Flight, refusal: Refusal): void {
    if (flight.waiters.size === 0) return this.#forget(flight)
    const step = stepAfter(refusal)
    if (step === 'answer') return this.#refuseAll(flight, refusal)
    // what was decided for this id stands: another try is another command
    if (!isUndecided(refusal.code) && step !== 'join') flight.commandId = this.#world.newId()
    if (step === 'join') {
      flight.cancelTimer = this.#after(1, () => void this.#ask(flight))
      return
    }
    flight.lastRefusal = refusal
    flight.state = step
    for (const waiter of flight.waiters) {
      if (waiter.overBudget) this.#end(flight, waiter, this.#refusalFor(flight, refusal))
    }
    if (flight.waiters.size === 0) return
    if (step === 'backOff') flight.cancelTimer = this.#after(flight.attempt, () => void this.#ask(flight))
    else this.#awaitCapacity(flight)
  }

  #awaitCapacity(flight: Flight): void {
    this.#queue.add(flight.address.ref.atespace, flight.order, flight)
    this.#tick()
  }

  /** Capacity may change without anyone saying so (a message lost): ask again all the same (P4). */
  #tick(): void {
    if (this.#isTicking) return
    this.#isTicking = true
    this.#world.clock.after(this.#world.limits.rpcBackoffMsMax, () => {
      this.#isTicking = false
      this.#release()
      if (this.#queue.size > 0) this.#tick()
    })
  }

  /** Lets the next ones ask again, in turn. */
  #release(most = this.#world.limits.wakeRetriesAtOnceMax): void {
    const turns = Math.min(most, this.#queue.size)
    for (let turn = 0; turn < turns; turn += 1) {
      const flight = this.#queue.take()
      if (flight !== undefined) void this.#ask(flight)
    }
  }

  #budgetOver(flight: Flight, waiter: Waiter): void {
    if (flight.state !== 'asking') {
      const refusal = flight.lastRefusal ?? refuse('NO_CAPACITY', flight.address.key)
      return this.#end(flight, waiter, this.#refusalFor(flight, refusal))
    }
    waiter.overBudget = true
    waiter.cancelTimer = this.#world.clock.after(this.#world.limits.parkPlacedExtraMs, () =>
      this.#end(flight, waiter, refusedWith(refuse('WAKE_TIMEOUT', flight.address.key))),
    )
  }

  #refuseAll(flight: Flight, refusal: Refusal): void {
    const refused = this.#refusalFor(flight, refusal)
    this.#forget(flight)
    for (const waiter of flight.waiters) this.#end(flight, waiter, refused)
  }

  #refusalFor(flight: Flight, refusal: Refusal): Parked {
    const position = this.#queue.position(flight)
    return refusedWith(
      afterBudget(refusal),
      refusal.code === 'NO_CAPACITY' ? Math.max(1, position) : undefined,
    )
  }

  #end(flight: Flight, waiter: Waiter, parked: Parked): void {
    if (!flight.waiters.delete(waiter)) return
    waiter.cancelTimer()
    this.#parked -= 1
    // A wake that is under way ends by itself, and its answer is for whoever comes until then.
    if (flight.waiters.size === 0 && flight.state !== 'asking') this.#forget(flight)
    waiter.end(parked)
  }

  #forget(flight: Flight): void {
    flight.cancelTimer()
    this.#queue.remove(flight)
    if (this.#flights.get(flight.address.key) === flight) this.#flights.delete(flight.address.key)
  }

  #after(attempt: number, call: () => void): () => void {
    const { rpcBackoffMsMin, rpcBackoffMsMax } = this.#world.limits
    return this.#world.clock.after(Math.min(rpcBackoffMsMax, rpcBackoffMsMin * 2 ** (attempt - 1)), call)
  }
}

/** Refusals that another try may end say when to come back. */
function refusedWith(refusal: Refusal, position?: number): Parked {
  const extras = {
    ...(refusal.retry === 'never' ? {} : { retryAfterSeconds: LIMITS.retryAfterSeconds }),
    ...(position === undefined ? {} : { position }),
  }
  return { kind: 'refused', refusal, extras }
}
