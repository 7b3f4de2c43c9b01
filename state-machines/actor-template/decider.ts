import type { ActorTemplate, CommandData, Decider, Decision, Snapshot } from '@torpor/contracts'
import { LIMITS, accept, displayName, isGone, refuse, reject } from '@torpor/contracts'

/** What the control plane found out for a CreateActorTemplate. */
export type CreateActorTemplateFacts = { readonly atespaceExists?: boolean }

/** Data of the commands that no client may send. */
export type InternalTemplateCommands = {
  readonly TakeGoldenSnapshot: { readonly snapshot: Snapshot }
  readonly FailGoldenSnapshot: { readonly errorMessage: string }
}

/** A template never changes; only its golden snapshot comes to it, once. */
export const actorTemplateDecider: Decider<ActorTemplate> = {
  kind: 'actor-template',

  decide(command, state, context) {
    const name = displayName(context.target)
    const template = isGone(state) ? undefined : state
    if (command.type === 'CreateActorTemplate') {
      if (template !== undefined) return reject(refuse('ALREADY_EXISTS', name))
      const { atespaceExists } = (command.facts ?? {}) as CreateActorTemplateFacts
      if (atespaceExists !== true) return reject(refuse('ATESPACE_UNKNOWN', context.target.atespace))
      const { spec } = command.data as CommandData<'CreateActorTemplate'>
      const uid = context.newUid
      return accept([{ type: 'ActorTemplateCreated', data: { uid, spec } }], { uid })
    }
    if (!COMMANDS.has(command.type)) return reject(refuse('COMMAND_UNKNOWN', command.type))
    if (template === undefined) return reject(refuse('TEMPLATE_UNKNOWN', name))
    return decideKnown(command.type, command.data, template, context.nowMs)
  },

  evolve(state, event, ref, position) {
    const { version, timeMs } = position
    if (event.type === 'ActorTemplateCreated') {
      const { uid, spec } = event.data
      const { atespace, name } = ref
      return { uid, atespace, name, version, createTimeMs: timeMs, spec, golden: { phase: 'PENDING' } }
    }
    if (state === undefined || isGone(state)) return state
    switch (event.type) {
      case 'GoldenSnapshotTaken':
        return { ...state, version, golden: { phase: 'READY', snapshot: event.data.snapshot } }
      case 'GoldenSnapshotFailed':
        return { ...state, version, golden: { phase: 'FAILED', errorMessage: event.data.errorMessage } }
      case 'ActorTemplateDeleted':
        return { gone: true, uid: state.uid, untilMs: event.data.goneUntilMs }
      default:
        return state
    }
  },

  timers: () => [],
}

const COMMANDS: ReadonlySet<string> = new Set([
  'TakeGoldenSnapshot',
  'FailGoldenSnapshot',
  'DeleteActorTemplate',
])

/** How the golden snapshot ended is decided once: what comes after changes nothing. */
function decideKnown(type: string, data: unknown, template: ActorTemplate, nowMs: number): Decision {
  const result = { uid: template.uid }
  const isPending = template.golden.phase === 'PENDING'
  if (type === 'DeleteActorTemplate') {
    const goneUntilMs = nowMs + LIMITS.goneMs
    return accept([{ type: 'ActorTemplateDeleted', data: { goneUntilMs } }], result)
  }
  if (!isPending) return accept([], result)
  if (type === 'TakeGoldenSnapshot') {
    const { snapshot } = data as InternalTemplateCommands['TakeGoldenSnapshot']
    return accept([{ type: 'GoldenSnapshotTaken', data: { snapshot } }], result)
  }
  const { errorMessage } = data as InternalTemplateCommands['FailGoldenSnapshot']
  return accept([{ type: 'GoldenSnapshotFailed', data: { errorMessage } }], result)
}
