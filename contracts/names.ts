import type { Refusal } from './errors.ts'
import { refuse } from './errors.ts'

/** What the log keeps state of. `actor` is the reason for the others. */
export type EntityKind = 'actor' | 'actor-template' | 'worker-pool' | 'atespace' | 'node'

/** Stands where an atespace would, for kinds that belong to the whole system. Not a DNS label, so no atespace can take it. */
export const WHOLE_SYSTEM = '_'

/** Names one entity: `{ kind: 'actor', atespace: 'demo', name: 'my-counter-1' }`. */
export type EntityRef = { readonly kind: EntityKind; readonly atespace: string; readonly name: string }

const DNS_LABEL = /^[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?$/

/** True for 1–63 of a–z, 0–9 and `-`, with no `-` at either end. */
export const isDnsLabel = (name: string): boolean => DNS_LABEL.test(name)

/** Refuses a reference whose name or atespace is not a DNS label; everything else is checked after this. */
export function checkRef(ref: EntityRef): Refusal | undefined {
  const wholeSystem = ref.kind === 'worker-pool' || ref.kind === 'atespace' || ref.kind === 'node'
  if (wholeSystem ? ref.atespace !== WHOLE_SYSTEM : !isDnsLabel(ref.atespace)) {
    return refuse('NAME_INVALID', `atespace ${JSON.stringify(ref.atespace)}`)
  }
  return isDnsLabel(ref.name) ? undefined : refuse('NAME_INVALID', `name ${JSON.stringify(ref.name)}`)
}

/** The key of an entity in its shard's state: `actor/demo/my-counter-1`. */
export const entityKey = (ref: EntityRef): string => `${ref.kind}/${ref.atespace}/${ref.name}`

/** The reverse of {@link entityKey}. */
export function parseEntityKey(key: string): EntityRef {
  const [kind = '', atespace = '', name = ''] = key.split('/')
  return { kind: kind as EntityKind, atespace, name }
}

/** How people write an entity: `demo/my-counter-1`, or the bare name for kinds of the whole system. */
export const displayName = (ref: EntityRef): string =>
  ref.atespace === WHOLE_SYSTEM ? ref.name : `${ref.atespace}/${ref.name}`

export const actorRef = (atespace: string, name: string): EntityRef => ({ kind: 'actor', atespace, name })
export const templateRef = (atespace: string, name: string): EntityRef => ({
  kind: 'actor-template',
  atespace,
  name,
})
export const workerPoolRef = (name: string): EntityRef => ({
  kind: 'worker-pool',
  atespace: WHOLE_SYSTEM,
  name,
})
export const atespaceRef = (name: string): EntityRef => ({ kind: 'atespace', atespace: WHOLE_SYSTEM, name })
export const nodeRef = (name: string): EntityRef => ({ kind: 'node', atespace: WHOLE_SYSTEM, name })
