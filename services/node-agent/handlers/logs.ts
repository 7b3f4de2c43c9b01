import { refusalOf } from '@torpor/contracts'
import type { NodeCommandData, Reply } from '@torpor/contracts'
import type { Agent } from '../context.ts'
import { accepted, refused } from './replies.ts'

export type LogLines = { readonly lines: readonly string[] }

/** The last lines that the actor's process wrote; none when it does not run here. */
export async function handleLogs(agent: Agent, data: NodeCommandData<'Logs'>): Promise<Reply<LogLines>> {
  try {
    return accepted({ lines: await agent.ports.runtime.logs(data.actorUid, data.linesMax) })
  } catch (error) {
    return refused(refusalOf(error))
  }
}
