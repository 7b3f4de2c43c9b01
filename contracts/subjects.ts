import type { EntityRef } from './names.ts'

/** The one file that spells subjects. Nothing else in the project holds a subject as a literal. */
const ROOT = 'torpor.v1'

export const SUBJECTS = {
  log: (shard: number): string => `${ROOT}.log.${shard}`,
  event: (ref: Pick<EntityRef, 'atespace' | 'name'>): string => `${ROOT}.evt.${ref.atespace}.${ref.name}`,
  command: (ref: Pick<EntityRef, 'atespace' | 'name'>, verb: string): string =>
    `${ROOT}.cmd.${ref.atespace}.${ref.name}.${verb}`,
  rpc: (ref: Pick<EntityRef, 'atespace' | 'name'>, verb: string): string =>
    `${ROOT}.rpc.${ref.atespace}.${ref.name}.${verb}`,
  shardRpc: (shard: number): string => `${ROOT}.shard.${shard}.rpc`,
  /** Between control planes only: forwarded reports, and commands that no client may send. */
  shardSystem: (shard: number): string => `${ROOT}.shard.${shard}.system`,
  nodeCommand: (node: string, verb: string): string => `${ROOT}.node.${node}.${verb}`,
  report: (node: string, actor: Pick<EntityRef, 'atespace' | 'name'>): string =>
    `${ROOT}.report.${node}.${actor.atespace}.${actor.name}`,
  capacity: (node: string): string => `${ROOT}.capacity.${node}`,
  query: (verb: string): string => `${ROOT}.query.${verb}`,
} as const

/** What to subscribe to for all subjects of a kind. */
export const ALL = {
  events: `${ROOT}.evt.>`,
  commands: `${ROOT}.cmd.>`,
  rpc: `${ROOT}.rpc.>`,
  shardRpc: `${ROOT}.shard.*.rpc`,
  shardSystem: `${ROOT}.shard.*.system`,
  nodeCommands: `${ROOT}.node.>`,
  nodeCommandsOf: (node: string): string => `${ROOT}.node.${node}.*`,
  reports: `${ROOT}.report.>`,
  capacity: `${ROOT}.capacity.*`,
  queries: `${ROOT}.query.*`,
} as const

export const STREAMS = {
  log: (shard: number): string => `LOG_${shard}`,
  events: 'EVENTS',
  commands: 'COMMANDS',
  nodeCommands: 'NODE_COMMANDS',
  reports: 'REPORTS',
} as const

export const BUCKETS = { shards: 'SHARDS' } as const

/**
 * Where answers to one user arrive. Bus permissions give each user only its own; who names no user has the prefix that every
 * NATS client has by itself, and it holds nobody else's.
 */
export const inboxPrefix = (user: string): string => (user === '' ? '_INBOX' : `_INBOX_${user}`)

/** Queue group of everything that a control plane serves for the whole system. */
export const CONTROL_PLANE_QUEUE = 'control-plane'
export const PROJECTOR_QUEUE = 'projector'

/** Splits `torpor.v1.{cmd|rpc}.<atespace>.<name>.<verb>`; undefined when it has another form. */
export function parseCommandSubject(
  subject: string,
): { atespace: string; name: string; verb: string } | undefined {
  const [root, version, door, atespace, name, verb, more] = subject.split('.')
  const known = root === 'torpor' && version === 'v1' && (door === 'cmd' || door === 'rpc')
  if (!known || more !== undefined || !atespace || !name || !verb) return undefined
  return { atespace, name, verb }
}

/** Splits `torpor.v1.report.<node>.<atespace>.<actor>`; undefined when it has another form. */
export function parseReportSubject(
  subject: string,
): { node: string; atespace: string; name: string } | undefined {
  const [root, version, kind, node, atespace, name, more] = subject.split('.')
  if (root !== 'torpor' || version !== 'v1' || kind !== 'report' || more !== undefined) return undefined
  return node && atespace && name ? { node, atespace, name } : undefined
}

/** Header that carries the subject of a request that goes straight to, or is forwarded to, the owner of its shard. */
export const SUBJECT_HEADER = 'torpor-subject'

/**
 * Header of a `ResumeActor` on the fast door: with the value `placed` it is answered as soon as the actor's place is in the
 * log, while it still starts there (RESUMING, with its worker); without it, when the actor serves.
 */
export const ANSWER_WHEN_HEADER = 'torpor-answer-when'

/** Asks any control plane how many shards the system has: `{ shards, version }`. */
export const GET_SYSTEM = 'GetSystem'

/** Asks the projector how far it is: `{ shards: [{ shard, position, lastSequence }] }`. */
export const GET_READ_MODEL = 'GetReadModel'
