import { refuse } from '@torpor/contracts'
import type { NodeCommandData, Reply } from '@torpor/contracts'
import type { Agent } from '../context.ts'
import { nameOf } from '../context.ts'
import { TAKEN, refused } from './replies.ts'

/** Removes the node's copy of a generation, behind whatever reads it. */
export function handleDropSnapshot(agent: Agent, data: NodeCommandData<'DropSnapshot'>): Reply<null> {
  const { actorUid, generation } = data
  const queued = agent.queues.offer(actorUid, async () => {
    await agent.seals.cancel(actorUid, generation)
    await agent.uploads.cancel(actorUid, generation)
    await agent.copies.drop(actorUid, generation)
    agent.outbox.send(data, { type: 'SnapshotDropped', data: { generation } })
  })
  return queued === undefined ? refused(refuse('SHARD_BUSY', nameOf(data))) : TAKEN
}
