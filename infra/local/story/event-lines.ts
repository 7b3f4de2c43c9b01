import type { CloudEvent, DomainEvent } from '@torpor/contracts'
import { domainEventOf } from '@torpor/contracts'

/** `ActorSuspended v9 gen2 SNAPSHOT_STORAGE_STATE_PENDING`: one event as the story prints it. */
export function eventLine(event: CloudEvent): string {
  const domain = domainEventOf(event)
  const words = [
    domain?.type ?? event.type,
    event.subject,
    `v${event.version}`,
    domain ? detailOf(domain) : '',
  ]
  return words.filter((word) => word !== '').join(' ')
}

function detailOf({ type, data }: DomainEvent): string {
  switch (type) {
    case 'ActorResumeStarted':
      return `gen${data.generation} on ${data.worker}`
    case 'ActorResumed':
      return `in ${Math.round(data.phasesMs['total'] ?? 0)} ms`
    case 'ActorSuspendStarted':
      return `gen${data.generation} ${data.mode}`
    case 'ActorCheckpointed':
    case 'ActorSuspended':
      return `gen${data.snapshot.generation} ${data.snapshot.storageState}`
    case 'SnapshotCompleted':
    case 'SnapshotReleased':
    case 'SnapshotDetached':
      return `gen${data.generation}`
    default:
      return 'message' in data && typeof data.message === 'string' ? data.message : ''
  }
}
