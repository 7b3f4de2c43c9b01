import type { EntityRef } from '@torpor/contracts'
import { actorRef, atespaceRef, fault, nodeRef, templateRef, workerPoolRef } from '@torpor/contracts'
import type { World } from '../world.ts'

/** Kinds as people write them, each with its plural and other spellings. */
const KINDS = {
  actor: ['actor', 'actors'],
  'actor-template': ['template', 'templates', 'actor-template', 'actor-templates'],
  'worker-pool': ['worker-pool', 'worker-pools', 'pool', 'pools'],
  worker: ['worker', 'workers'],
  node: ['node', 'nodes'],
  atespace: ['atespace', 'atespaces'],
} as const

export type Kind = keyof typeof KINDS

/** Every spelling of these kinds, for help texts and checks. */
export const spellingsOf = (kinds: readonly Kind[]): string[] => kinds.flatMap((kind) => KINDS[kind])

export const ALL_KINDS = Object.keys(KINDS) as Kind[]

/** The kind that a spelling means. */
export function kindOf(spelling: string): Kind {
  const kind = ALL_KINDS.find((candidate) => (KINDS[candidate] as readonly string[]).includes(spelling))
  if (kind === undefined) throw fault('COMMAND_UNKNOWN', spelling)
  return kind
}

/**
 * The entity that `name` means: `ATESPACE/NAME`, or NAME with the atespace of `-a` or TORPOR_ATESPACE.
 * Throws NAME_INVALID when no one says which atespace.
 */
export function entityOf(
  kind: Exclude<Kind, 'worker'>,
  name: string,
  atespace: string | undefined,
  world: World,
): EntityRef {
  if (kind === 'worker-pool') return workerPoolRef(name)
  if (kind === 'atespace') return atespaceRef(name)
  if (kind === 'node') return nodeRef(name)
  const [first = '', second] = name.split('/')
  const spaceName = second === undefined ? atespaceOf(atespace, world, name) : first
  return (kind === 'actor' ? actorRef : templateRef)(spaceName, second ?? first)
}

function atespaceOf(option: string | undefined, world: World, name: string): string {
  const atespace = option ?? world.environment['TORPOR_ATESPACE']
  if (atespace) return atespace
  throw fault('NAME_INVALID', name, { detail: 'no atespace: give -a ATESPACE, or write ATESPACE/NAME' })
}
