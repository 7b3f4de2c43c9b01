import type {
  Actor,
  CommandData,
  Decision,
  DecisionContext,
  Gone,
  HostCommand,
  Snapshot,
} from '@torpor/contracts'
import { accept, displayName, isGone, refuse, reject } from '@torpor/contracts'
import type { CreateActorFacts } from '../commands.ts'

/**
 * An actor is born at rest, with its template's golden snapshot borrowed as generation 1. A golden actor has none: it starts
 * from its image, so that its first own generation can become the golden one.
 */
export function createActor(
  command: HostCommand,
  state: Actor | Gone | undefined,
  context: DecisionContext,
): Decision {
  if (state !== undefined && !isGone(state)) {
    return reject(refuse('ALREADY_EXISTS', displayName(context.target)))
  }
  const { template: named } = command.data as CommandData<'CreateActor'>
  const { template, golden = false } = (command.facts ?? {}) as CreateActorFacts
  const templateName = `${named.atespace}/${named.name}`
  if (template === undefined) return reject(refuse('TEMPLATE_UNKNOWN', templateName))
  const { phase, snapshot, errorMessage } = template.golden
  if (!golden && phase === 'FAILED') return reject(refuse('TEMPLATE_FAILED', templateName, errorMessage))
  if (!golden && snapshot === undefined) return reject(refuse('TEMPLATE_NOT_READY', templateName, phase))
  const data = {
    uid: context.newUid,
    template: { atespace: template.atespace, name: template.name, uid: template.uid },
    spec: template.spec,
    golden,
    ...(golden || snapshot === undefined ? {} : { snapshot: borrowed(snapshot) }),
  }
  return accept([{ type: 'ActorCreated', data }], { uid: context.newUid })
}

const borrowed = (snapshot: Snapshot): Snapshot => ({
  ...snapshot,
  generation: 1,
  owner: 'SNAPSHOT_OWNER_TAG',
  storageState: 'SNAPSHOT_STORAGE_STATE_COMPLETED',
  locality: '',
})
