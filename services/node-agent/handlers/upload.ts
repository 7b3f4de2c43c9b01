import type { NodeCommandData, Reply } from '@torpor/contracts'
import type { Agent } from '../context.ts'
import { TAKEN } from './replies.ts'

/** Begins to copy a generation to the object store, unless that is under way. */
export function handleUpload(agent: Agent, data: NodeCommandData<'Upload'>): Reply<null> {
  agent.uploads.begin(data)
  return TAKEN
}
