import type { Assignment, EntityRef, Reply } from '@torpor/contracts'

/** Where an actor runs, as a wake answers it. */
export type Placed = { readonly assignment: Assignment; readonly gateAddress: string }

/**
 * Wakes an actor, or learns where it runs. Refuses at once where nobody admits it; takes long while a node restores it.
 * All attempts of one flight carry the same `commandId`, so that however many arrive, one is decided.
 */
export type Wake = (ref: EntityRef, commandId: string) => Promise<Reply<Placed>>

/** Calls back when there may be room again; the returned function ends that. */
export type WatchCapacity = (onChange: () => void) => () => void
