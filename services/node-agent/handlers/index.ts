import { NODE_COMMANDS, refuse } from '@torpor/contracts'
import type { NodeCommandData, NodeCommandName, Reply } from '@torpor/contracts'
import type { Agent } from '../context.ts'
import { handleAbandon } from './abandon.ts'
import { handleCheckpoint } from './checkpoint.ts'
import { handleCollectSnapshot } from './collect-snapshot.ts'
import { handleDropSnapshot } from './drop-snapshot.ts'
import { handleGo } from './go.ts'
import { handleInventory } from './inventory.ts'
import { handleLogs } from './logs.ts'
import { handlePrepare } from './prepare.ts'
import { refused } from './replies.ts'
import { handleSetWorkers } from './set-workers.ts'
import { handleTerminate } from './terminate.ts'
import { handleUpload } from './upload.ts'

type Handlers = {
  readonly [Name in NodeCommandName]: (
    agent: Agent,
    data: NodeCommandData<Name>,
  ) => Reply<unknown> | Promise<Reply<unknown>>
}

const HANDLERS: Handlers = {
  Prepare: handlePrepare,
  Go: handleGo,
  Abandon: handleAbandon,
  Checkpoint: handleCheckpoint,
  Terminate: handleTerminate,
  Upload: handleUpload,
  DropSnapshot: handleDropSnapshot,
  CollectSnapshot: handleCollectSnapshot,
  Inventory: handleInventory,
  SetWorkers: handleSetWorkers,
  Logs: handleLogs,
}

const isNodeCommandName = (verb: string): verb is NodeCommandName => Object.hasOwn(HANDLERS, verb)

/** Checks a node command against its schema and gives it to its handler. */
export function handleNodeCommand(
  agent: Agent,
  verb: string,
  data: unknown,
): Reply<unknown> | Promise<Reply<unknown>> {
  if (!isNodeCommandName(verb)) return refused(refuse('COMMAND_UNKNOWN', verb))
  const parsed = NODE_COMMANDS[verb].safeParse(data)
  if (!parsed.success) {
    const issue = parsed.error.issues[0]
    const detail = `${issue?.path.join('.') ?? ''}: ${issue?.message ?? ''}`
    return refused(refuse('COMMAND_MALFORMED', verb, detail))
  }
  const handler = HANDLERS[verb] as (agent: Agent, data: unknown) => Reply<unknown> | Promise<Reply<unknown>>
  return handler(agent, parsed.data)
}
