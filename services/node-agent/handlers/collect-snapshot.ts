import type { NodeCommandData, Reply } from '@torpor/contracts'
import type { Agent } from '../context.ts'
import { collect } from '../snapshots/upload.ts'
import { TAKEN } from './replies.ts'

/** Removes a generation from the object store. When the store fails, the control plane asks again. */
export function handleCollectSnapshot(agent: Agent, data: NodeCommandData<'CollectSnapshot'>): Reply<null> {
  const { generation, uri } = data
  void collect(agent.ports.store, uri).then(
    () => agent.outbox.send(data, { type: 'SnapshotCollected', data: { generation } }),
    (error: unknown) => agent.ports.log('warn', `${uri} could not be collected: ${String(error)}`),
  )
  return TAKEN
}
