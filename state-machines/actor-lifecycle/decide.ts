import type { Actor, Decision, DecisionContext, Gone, HostCommand } from '@torpor/contracts'
import { accept, displayName, fault, isGone, refuse, reject } from '@torpor/contracts'
import { checkStorageEvent } from '../snapshot-storage/storage.ts'
import type { ActorCommandData, Rule } from './commands.ts'
import { reportFacts } from './commands.ts'
import { createActor } from './decide/create-actor.ts'
import { declareNodeLost } from './decide/declare-node-lost.ts'
import { deleteActor } from './decide/delete-actor.ts'
import { fireTimer } from './decide/fire-timer.ts'
import { reportCheckpointAbandoned, reportCheckpointed } from './decide/report-checkpoint.ts'
import { reportExited, reportTerminated } from './decide/report-end.ts'
import { abandonResume, reportRestoreFailed, reportRestored } from './decide/report-restore.ts'
import {
  reportSnapshotCollected,
  reportSnapshotDropped,
  reportSnapshotLost,
} from './decide/report-snapshot.ts'
import { reportUploadFailed, reportUploaded } from './decide/report-upload.ts'
import { resumeActor } from './decide/resume-actor.ts'
import { revertActor } from './decide/revert-actor.ts'
import { reportIdleTimedOut, suspendActor } from './decide/suspend-actor.ts'
import { evolve } from './evolve.ts'
import type { ActorEventName } from './machine.ts'
import { ACTOR_TRANSITIONS } from './transition-table.ts'

/** Which rule answers which command about an actor that exists. */
const RULES: { readonly [Type in keyof ActorCommandData]: Rule<Type> } = {
  ResumeActor: resumeActor,
  SuspendActor: suspendActor,
  RevertActor: revertActor,
  DeleteActor: deleteActor,
  FireTimer: fireTimer,
  DeclareNodeLost: declareNodeLost,
  AbandonResume: abandonResume,
  ReportRestored: reportRestored,
  ReportRestoreFailed: reportRestoreFailed,
  ReportCheckpointed: reportCheckpointed,
  ReportCheckpointAbandoned: reportCheckpointAbandoned,
  ReportExited: reportExited,
  ReportTerminated: reportTerminated,
  ReportUploaded: reportUploaded,
  ReportUploadFailed: reportUploadFailed,
  ReportSnapshotDropped: reportSnapshotDropped,
  ReportSnapshotCollected: reportSnapshotCollected,
  ReportSnapshotLost: reportSnapshotLost,
  ReportIdleTimedOut: reportIdleTimedOut,
}

/** Every command that the actor's decider answers. */
export const ACTOR_COMMANDS: readonly string[] = ['CreateActor', ...Object.keys(RULES)]

/** Noticed about an actor that is not there any more, these have nothing left to do. */
const MOOT_WITHOUT_ACTOR: ReadonlySet<string> = new Set(['FireTimer', 'DeclareNodeLost'])

/** What happens to an actor because of a command: events that its machine accepts, or a refusal. */
export function decide(
  command: HostCommand,
  state: Actor | Gone | undefined,
  context: DecisionContext,
): Decision {
  return checked(decideUnchecked(command, state, context), state, context)
}

function decideUnchecked(
  command: HostCommand,
  state: Actor | Gone | undefined,
  context: DecisionContext,
): Decision {
  const name = displayName(context.target)
  if (command.type === 'CreateActor') return createActor(command, state, context)
  if (!isRule(command.type)) return reject(refuse('COMMAND_UNKNOWN', command.type))
  if (state === undefined || isGone(state)) {
    if (MOOT_WITHOUT_ACTOR.has(command.type)) return accept([])
    const isKnown = state !== undefined && context.nowMs < state.untilMs
    return reject(refuse(isKnown ? 'ACTOR_GONE' : 'ACTOR_UNKNOWN', name))
  }
  const { actorUid } = command.type.startsWith('Report') ? reportFacts(command) : {}
  if (actorUid !== undefined && actorUid !== state.uid) {
    return reject(refuse('ASSIGNMENT_OLD', name, `is about ${actorUid}, which is not there any more`))
  }
  const rule = RULES[command.type] as Rule<never>
  const decision = rule(state, command.data as never, context, command)
  return decision.kind === 'refused' ? decision : { ...decision, result: { uid: state.uid } }
}

const isRule = (type: string): type is keyof ActorCommandData => Object.hasOwn(RULES, type)

/**
 * The one place where decisions meet the machine: events that it does not accept in the state reached so far are a defect of
 * a rule, and stop here instead of in the log.
 */
function checked(decision: Decision, before: Actor | Gone | undefined, context: DecisionContext): Decision {
  if (decision.kind === 'refused') return decision
  let state = before
  decision.events.forEach((event, index) => {
    const from = state === undefined || isGone(state) ? 'NO_ACTOR' : state.state
    if (ACTOR_TRANSITIONS[from][event.type as ActorEventName] === undefined) {
      const detail = `decided ${event.type}, which is not legal in ${from}`
      throw fault('INTERNAL', displayName(context.target), { detail })
    }
    if (state !== undefined && !isGone(state)) checkStorageEvent(state, event)
    const version = context.version + index + 1
    state = evolve(state, event, context.target, { version, epoch: context.epoch, timeMs: context.nowMs })
  })
  return decision
}
