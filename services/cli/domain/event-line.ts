import type { CloudEvent, DomainEvent, EventName } from '@torpor/contracts'
import { displayName, domainEventOf, parseEntityKey } from '@torpor/contracts'
import { timeOfDay } from './durations.ts'

/** One event on one line: `14:02:11.042  demo/x  v7  ActorSuspended  gen 3 PENDING …`. */
export function eventLine(event: CloudEvent): string {
  const domainEvent = domainEventOf(event)
  const ref = parseEntityKey(event.subject)
  const name = ref.kind === 'actor' ? displayName(ref) : `${ref.kind} ${displayName(ref)}`
  const facts = domainEvent === undefined ? '' : factsOf(domainEvent)
  const words = [
    timeOfDay(Date.parse(event.time)),
    name,
    `v${event.version}`,
    domainEvent?.type ?? event.type,
    facts,
  ]
  return words.filter((word) => word !== '').join('  ')
}

/** Which fields of an event's data tell the story, in this order. */
const FACTS: { readonly [Name in EventName]?: readonly string[] } = {
  ActorResumeStarted: ['trigger', 'generation', 'worker', 'node'],
  ActorSuspendStarted: ['trigger', 'generation', 'mode', 'drain'],
  ActorRevertStarted: ['generation', 'thenResume'],
  ActorReverted: ['generation'],
  ActorExited: ['code', 'message', 'exitCode'],
  ActorNodeLost: ['node'],
  ActorSnapshotLost: ['generation', 'code', 'message'],
  SnapshotCompleted: ['generation', 'uri'],
  SnapshotUploadFailed: ['generation', 'attempts', 'lastError'],
  SnapshotReleased: ['generation'],
  SnapshotDetached: ['generation', 'node'],
  SnapshotCollected: ['generation'],
  TimerFired: ['id'],
  GoldenSnapshotFailed: ['errorMessage'],
  CommandRefused: ['command', 'code', 'message'],
}

function factsOf(event: DomainEvent): string {
  const data = event.data as Readonly<Record<string, unknown>>
  const named = (FACTS[event.type] ?? ['code', 'message'])
    .filter((field) => data[field] !== undefined)
    .map((field) => `${field}=${String(data[field])}`)
  return [...named, ...snapshotFacts(data['snapshot']), ...phaseFacts(data['phasesMs'])].join(' ')
}

function snapshotFacts(snapshot: unknown): readonly string[] {
  if (typeof snapshot !== 'object' || snapshot === null) return []
  const { generation, storageState } = snapshot as { generation?: number; storageState?: string }
  return [`generation=${generation}`, String(storageState).replace('SNAPSHOT_STORAGE_STATE_', '')]
}

function phaseFacts(phasesMs: unknown): readonly string[] {
  if (typeof phasesMs !== 'object' || phasesMs === null) return []
  return Object.entries(phasesMs as Record<string, number>).map(
    ([phase, ms]) => `${phase}=${ms.toFixed(1)}ms`,
  )
}
