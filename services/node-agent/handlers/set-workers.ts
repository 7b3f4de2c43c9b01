import { refusalOf } from '@torpor/contracts'
import type { NodeCommandData, Reply } from '@torpor/contracts'
import type { Agent } from '../context.ts'
import { bookedOf } from '../execution/admission.ts'
import { TAKEN, refused } from './replies.ts'

/** Stands for the node itself in the queues, so that two of these never mix. */
const THIS_NODE = ''

/** Makes the pool's workers that are missing and lets its surplus go; answered when it is done. */
export async function handleSetWorkers(
  agent: Agent,
  { workerPool, workers, spec }: NodeCommandData<'SetWorkers'>,
): Promise<Reply<null>> {
  try {
    const isEmpty = (worker: string): boolean => bookedOf(agent, worker).actors === 0
    const wanted = workers.map((worker) => ({ worker, workerPool, spec }))
    await agent.queues.run(THIS_NODE, () => agent.workers.set(workerPool, wanted, isEmpty))
    agent.capacityChanged()
    return TAKEN
  } catch (error) {
    return refused(refusalOf(error))
  }
}
