import type { Actor, DomainEvent } from '@torpor/contracts'
import { fault } from '@torpor/contracts'
import { readTransitions } from '../transition-table.ts'
import type { StorageEventName, StorageStateName } from './machine.ts'
import { storageMachine } from './machine.ts'

/** The storage machine as a look-up table. */
export const STORAGE_TRANSITIONS = readTransitions<StorageStateName, StorageEventName>(storageMachine)

/** In which storage state an actor has a generation; undefined when it never had it, or has it no more. */
export function storageStateOf(
  actor: Pick<Actor, 'snapshots' | 'collect' | 'suspend'>,
  generation: number,
): StorageStateName | undefined {
  const checkpointed = actor.suspend?.checkpointed
  const row =
    checkpointed?.generation === generation
      ? checkpointed
      : actor.snapshots.find((snapshot) => snapshot.generation === generation)
  if (row !== undefined) return row.storageState
  return actor.collect.some((entry) => entry.generation === generation) ? 'RELEASED' : undefined
}

/** @throws a fault INTERNAL when `event` is about a generation whose storage does not allow it. */
export function checkStorageEvent(actor: Actor, event: DomainEvent): void {
  if (!isStorageEvent(event)) return
  const { generation } = event.data
  const state = storageStateOf(actor, generation)
  if (state !== undefined && STORAGE_TRANSITIONS[state][event.type] !== undefined) return
  const detail = `decided ${event.type} while its storage is ${state ?? 'nothing'}`
  throw fault('INTERNAL', `${actor.atespace}/${actor.name} generation ${generation}`, { detail })
}

const NAMES: ReadonlySet<string> = new Set(Object.values(STORAGE_TRANSITIONS).flatMap(Object.keys))

const isStorageEvent = (event: DomainEvent): event is Extract<DomainEvent, { type: StorageEventName }> =>
  NAMES.has(event.type)
