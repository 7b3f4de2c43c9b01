import type { HostCommand, Reply } from '@torpor/contracts'
import { isQueryName } from '@torpor/contracts'
import type { Context, Handler } from '../context.ts'
import { createActor } from './create-actor.ts'
import { createActorTemplate } from './create-actor-template.ts'
import { deleteActor } from './delete-actor.ts'
import { deleteAtespace } from './delete-atespace.ts'
import { getActorLogs } from './get-actor-logs.ts'
import { getEntity } from './get-entity.ts'
import { joinNode } from './join-node.ts'
import { renewNodeLease } from './renew-node-lease.ts'
import { resumeActor } from './resume-actor.ts'
import { revertActor } from './revert-actor.ts'
import { submitReport } from './submit-report.ts'
import { submit } from './submit.ts'
import { suspendActor } from './suspend-actor.ts'

/** Which file answers which verb. What is not here needs nothing but its decision: {@link submit}. */
const HANDLERS: Readonly<Record<string, Handler>> = {
  CreateActor: createActor,
  ResumeActor: resumeActor,
  SuspendActor: suspendActor,
  RevertActor: revertActor,
  DeleteActor: deleteActor,
  CreateActorTemplate: createActorTemplate,
  DeleteAtespace: deleteAtespace,
  GetActorLogs: getActorLogs,
  JoinNode: joinNode,
  RenewNodeLease: renewNodeLease,
}

/** Answers one command, question or report on the owner of its target's shard. Faults are thrown. */
export function handle(command: HostCommand, context: Context): Promise<Reply<unknown>> {
  const handler = HANDLERS[command.type]
  if (handler !== undefined) return handler(command, context)
  if (isQueryName(command.type)) return getEntity(command, context)
  return command.type.startsWith('Report') ? submitReport(command, context) : submit(command, context)
}
