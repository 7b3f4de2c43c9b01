import { refuse } from '@torpor/contracts'
import type { NodeCommandData, Reply } from '@torpor/contracts'
import type { Agent } from '../context.ts'
import { nameOf } from '../context.ts'
import { collect } from '../snapshots/upload.ts'
import { TAKEN, refused } from './replies.ts'

/**
 * Removes a generation that nothing refers to any more: the copy here, behind whatever reads it, then what is in the object
 * store. When the store fails nothing is reported, and the control plane asks again.
 */
export function handleCollectSnapshot(agent: Agent, data: NodeCommandData<'CollectSnapshot'>): Reply<null> {
  const { actorUid, generation } = data
  const dropped = agent.queues.offer(actorUid, async () => {
    await agent.seals.cancel(actorUid, generation)
    await agent.uploads.cancel(actorUid, generation)
    await agent.copies.drop(actorUid, generation)
  })
  if (dropped === undefined) return refused(refuse('SHARD_BUSY', nameOf(data)))
  void collectFromStore(agent, data, dropped)
  return TAKEN
}

async function collectFromStore(
  agent: Agent,
  data: NodeCommandData<'CollectSnapshot'>,
  dropped: Promise<void>,
): Promise<void> {
  const { generation, uri } = data
  try {
    await dropped
    await collect(agent.ports.store, uri)
    agent.outbox.send(data, { type: 'SnapshotCollected', data: { generation } })
  } catch (error) {
    agent.ports.log('warn', `${uri} could not be collected: ${String(error)}`)
  }
}
