import type { ServerResponse } from 'node:http'
import type { Clock } from '@torpor/contracts'
import { refuse } from '@torpor/contracts'
import { answerRefusal } from '@torpor/contracts/http'
import type { GateLimits } from './gate-limits.ts'

/** A router that waits for an execution to serve, and the header value that names it. */
type Knock = { readonly token: string; readonly answer: ServerResponse; readonly cancelTimer: () => void }

/**
 * Who waits at a gate for a door that is not there yet: a router that was told where its actor is placed, before it runs.
 *
 * (K1) A knock is answered 204 when the door of its assignment opens, and 421 when another one opens, when the start is
 * over, after `gateKnockMs`, or at once when `gateKnocksMax` wait. (K2) A knock lets nothing in: the request that
 * follows is judged like any other.
 */
export class Knocks {
  readonly #clock: Clock
  readonly #limits: GateLimits
  readonly #byActor = new Map<string, Set<Knock>>()
  #count = 0

  constructor(clock: Clock, limits: GateLimits) {
    this.#clock = clock
    this.#limits = limits
  }

  wait(actorUid: string, token: string, answer: ServerResponse): void {
    if (this.#count >= this.#limits.gateKnocksMax) return turnAway(answer, token)
    const knocks = this.#byActor.get(actorUid) ?? new Set<Knock>()
    this.#byActor.set(actorUid, knocks)
    const timeIsUp = (): void => {
      this.#leave(actorUid, knock)
      turnAway(answer, token)
    }
    const cancelTimer = this.#clock.after(this.#limits.gateKnockMs, timeIsUp)
    const knock: Knock = { token, answer, cancelTimer }
    knocks.add(knock)
    this.#count += 1
    answer.once('close', () => this.#leave(actorUid, knock))
  }

  /** The door of `token` is open: the others knocked for an execution that is over. */
  open(actorUid: string, token: string): void {
    for (const knock of this.#takeAll(actorUid)) {
      if (knock.token === token) letKnow(knock.answer)
      else turnAway(knock.answer, knock.token)
    }
  }

  /** No door will open. */
  turnAway(actorUid: string): void {
    for (const { answer, token } of this.#takeAll(actorUid)) turnAway(answer, token)
  }

  turnAllAway(): void {
    for (const actorUid of this.#byActor.keys()) this.turnAway(actorUid)
  }

  #takeAll(actorUid: string): readonly Knock[] {
    const knocks = [...(this.#byActor.get(actorUid) ?? [])]
    for (const knock of knocks) this.#leave(actorUid, knock)
    return knocks
  }

  #leave(actorUid: string, knock: Knock): void {
    const knocks = this.#byActor.get(actorUid)
    if (knocks === undefined || !knocks.delete(knock)) return
    knock.cancelTimer()
    this.#count -= 1
    if (knocks.size === 0) this.#byActor.delete(actorUid)
  }
}

/** The router may send its requests. */
export const letKnow = (answer: ServerResponse): void => void answer.writeHead(204).end()

export const turnAway = (answer: ServerResponse, token: string): void =>
  answerRefusal(answer, refuse('ASSIGNMENT_STALE', token || 'request'))
