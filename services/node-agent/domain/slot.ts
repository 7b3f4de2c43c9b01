import type {
  ActorTemplateSpec,
  Assignment,
  InventorySandbox,
  SandboxExit,
  Snapshot,
} from '@torpor/contracts'
import type { Booking } from '@torpor/state-machines'
import type { Span } from './phases.ts'

/** Whose: names for subjects and texts, the uid for everything else. */
export type ActorNames = { readonly actorUid: string; readonly atespace: string; readonly name: string }

/** What an actor is started from. */
export type StartRequest = {
  readonly worker: string
  readonly spec: ActorTemplateSpec
  readonly templateUid: string
  /** Absent: from the image. */
  readonly snapshot?: Snapshot | undefined
}

/**
 * `prepared`: booked, nothing runs · `starting`: Go came · `running`: the gate is open · `checkpointing`: the gate is
 * closed for a checkpoint · `ending`: it is being terminated, or its remains are.
 */
export type SlotPhase = 'prepared' | InventorySandbox['phase']

/** A sandbox made ready, and when what was done for it. */
export type Place = {
  readonly ipAddress: string
  /** Folder of the generation to restore; absent: start from the image. */
  readonly folder?: string
  readonly fetch: Span
  readonly verify: Span
}

/** One actor on this node, from admission to end. The only thing here that changes; its actor's queue changes it. */
export type Slot = {
  readonly actor: ActorNames
  readonly request: StartRequest
  readonly booking: Booking
  /** Aborted when the slot shall end: whatever waits for it stops waiting. */
  readonly cancel: AbortController
  /** Resolves when the process ended by itself. */
  readonly exited: PromiseWithResolvers<SandboxExit>
  phase: SlotPhase
  prepareId: string
  place?: Promise<Place>
  /** Takes the expiry of a prepare back. */
  keep?: () => void
  assignment?: Assignment
  ipAddress?: string
  phasesMs?: Readonly<Record<string, number>>
  /** Set while a checkpoint runs: what it will become. */
  generation?: number
  /** Ends the exit watch. */
  watch?: AbortController
  exit?: SandboxExit
  /** Idle time at the last IdleTimedOut report. */
  idleReportedMs?: number
}

export function newSlot(actor: ActorNames, request: StartRequest, booking: Booking, prepareId: string): Slot {
  const { actorUid, atespace, name } = actor
  const { worker, spec, templateUid, snapshot } = request
  return {
    actor: { actorUid, atespace, name },
    request: { worker, spec, templateUid, snapshot },
    booking,
    cancel: new AbortController(),
    exited: Promise.withResolvers<SandboxExit>(),
    phase: 'prepared',
    prepareId,
  }
}
