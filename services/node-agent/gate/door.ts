import type { Assignment, Clock, DrainMode, ErrorCode } from '@torpor/contracts'
import { formatAssignment } from '@torpor/contracts'
import type { GateLimits } from './gate-limits.ts'
import { SandboxConnections } from './sandbox-connections.ts'

/** An actor that this node runs, as the gate has to know it. */
export type GateActor = {
  readonly actorUid: string
  readonly atespace: string
  readonly name: string
  readonly assignment: Assignment
  readonly ipAddress: string
  readonly defaultPort: number
  /** What `torpor-target-port` may name. */
  readonly ports: readonly number[]
}

export type CloseOutcome =
  /** Nothing is open, nothing is being opened; `cut` requests did not end by themselves. */
  { readonly kind: 'drained'; readonly cut: number } | { readonly kind: 'refused'; readonly open: number }

/** Ends one open request from outside, with the code that its client is to see. */
export type Cut = (code: ErrorCode) => void

/**
 * The door to one sandbox: who is inside, and whether another may enter.
 *
 * (D1) A request is counted from before its connection is opened until its connection is done with it.
 * (D2) Nobody enters after `close` was called. (D3) `close` says drained only when nobody is inside and no connection
 * to the sandbox exists. (D4) A refused close changes nothing.
 */
export class Door {
  readonly actor: GateActor
  /** The header value that opens it. */
  readonly token: string
  readonly connections: SandboxConnections
  readonly #clock: Clock
  readonly #limits: GateLimits
  readonly #inside = new Set<Cut>()
  #state: 'open' | 'closing' | 'closed' = 'open'
  #emptySinceMs: number
  #cut = 0
  #onEmpty: (() => void)[] = []

  constructor(actor: GateActor, clock: Clock, limits: GateLimits) {
    this.actor = actor
    this.token = formatAssignment(actor.assignment)
    this.connections = new SandboxConnections(clock, limits)
    this.#clock = clock
    this.#limits = limits
    this.#emptySinceMs = clock.monotonicMs()
  }

  get isOpen(): boolean {
    return this.#state === 'open'
  }

  get openCount(): number {
    return this.#inside.size
  }

  get isFull(): boolean {
    return this.#inside.size >= this.#limits.gateOpenRequestsPerActorMax
  }

  get idleMs(): number {
    return this.#inside.size > 0 ? 0 : this.#clock.monotonicMs() - this.#emptySinceMs
  }

  /** Counts a request in (D1); the returned function counts it out, once. */
  enter(cut: Cut): () => void {
    this.#inside.add(cut)
    return () => {
      if (!this.#inside.delete(cut) || this.#inside.size > 0) return
      this.#emptySinceMs = this.#clock.monotonicMs()
      for (const call of this.#onEmpty.splice(0)) call()
    }
  }

  async close(drain: DrainMode, drainMs: number): Promise<CloseOutcome> {
    if (drain === 'refuse' && this.#inside.size > 0) return { kind: 'refused', open: this.#inside.size }
    if (this.#state === 'open') this.#cut = 0
    this.#state = 'closing'
    if (drain === 'drain') await this.#empty(drainMs)
    if (this.isOpen) return { kind: 'refused', open: this.#inside.size }
    this.#cutAll('REQUEST_CUT')
    await this.#empty()
    await this.connections.close()
    // Opened again while it closed: the caller must not take it for closed.
    if (this.isOpen) return { kind: 'refused', open: this.#inside.size }
    this.#state = 'closed'
    return { kind: 'drained', cut: this.#cut }
  }

  reopen(): void {
    this.#state = 'open'
    this.#emptySinceMs = this.#clock.monotonicMs()
  }

  /** The execution is over: who is inside gets `code`. */
  async end(code: ErrorCode): Promise<void> {
    this.#state = 'closed'
    this.#cutAll(code)
    await this.#empty()
    await this.connections.close()
  }

  #cutAll(code: ErrorCode): void {
    this.#cut += this.#inside.size
    for (const cut of this.#inside) cut(code)
  }

  /** Resolves when nobody is inside, or after `withinMs`. */
  #empty(withinMs?: number): Promise<void> {
    return new Promise((resolve) => {
      if (this.#inside.size === 0) return resolve()
      this.#onEmpty.push(resolve)
      if (withinMs !== undefined) this.#clock.after(withinMs, resolve)
    })
  }
}
