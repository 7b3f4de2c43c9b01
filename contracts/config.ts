import { z } from 'zod'
import { fault } from './errors.ts'

/** Every setting of every part: an environment variable, its schema, its meaning. The reference page is made from it. */

export const SETTINGS = {
  TORPOR_NATS_URL: setting(z.string().default('nats://127.0.0.1:4222'), 'Address of the bus.'),
  TORPOR_NATS_USER: setting(
    z.string().default(''),
    'User on the bus; empty: none, where the bus lets such in.',
  ),
  TORPOR_NATS_PASSWORD_FILE: setting(z.string().default(''), 'File that holds the password of that user.'),
  TORPOR_SHARDS: setting(
    z.coerce.number().int().min(1).max(256).default(4),
    'Shards of a new system; an existing one keeps its own.',
  ),
  TORPOR_BUS_REPLICAS: setting(z.coerce.number().int().min(1).max(5).default(1), 'Replicas of each stream.'),
  TORPOR_NAME: setting(
    z.string().default(''),
    'Name of this instance: of the control plane, node or router.',
  ),
  TORPOR_DATA_DIR: setting(z.string().default(''), 'Folder for what this part keeps on disk.'),
  TORPOR_LISTEN: setting(
    z.string().default('127.0.0.1:0'),
    'Address that the router or the gate listens on.',
  ),
  TORPOR_DOMAIN: setting(
    z.string().default('actors.localhost'),
    'Domain under which routers address actors: ACTOR.ATESPACE.DOMAIN.',
  ),
  TORPOR_STORE: setting(z.string().default(''), 'Object store: file:///FOLDER or s3://BUCKET/PREFIX.'),
  TORPOR_S3_ENDPOINT: setting(z.string().default(''), 'Endpoint of an S3 server that is not AWS.'),
  TORPOR_S3_REGION: setting(z.string().default('us-east-1'), 'Region of the bucket.'),
  TORPOR_POSTGRES_URL: setting(z.string().default(''), 'Connection string of the read model.'),
  TORPOR_POSTGRES_POOL_MAX: setting(
    z.coerce.number().int().min(2).max(100).default(4),
    'Connections to PostgreSQL at most; half of them are kept for lists.',
  ),
  TORPOR_SANDBOX: setting(
    z.enum(['gvisor', 'simulated']).default('gvisor'),
    'Sandboxes of this node; simulated is for trying out only.',
  ),
  TORPOR_RUNSC: setting(z.string().default('runsc'), 'Path of runsc.'),
  TORPOR_NODE_CPU_MILLI: setting(
    z.coerce.number().int().min(0).default(0),
    'CPU that the node offers; 0: what the machine has.',
  ),
  TORPOR_NODE_MEMORY_MIB: setting(
    z.coerce.number().int().min(0).default(0),
    'Memory that the node offers; 0: what the machine has.',
  ),
  TORPOR_GUARD_SOCKET: setting(z.string().default(''), 'Unix socket between node agent and guard.'),
  TORPOR_PARK_MS: setting(
    z.coerce.number().int().min(0).default(5_000),
    'How long a request waits for a place.',
  ),
  TORPOR_ROUTE_TIMEOUT_MS: setting(
    z.coerce.number().int().min(1).default(300_000),
    'How long an actor may take to begin its answer.',
  ),
  TORPOR_LOG_LEVEL: setting(
    z.enum(['debug', 'info', 'warn', 'error']).default('info'),
    'Least severe line that a part logs.',
  ),
} as const

export type SettingName = keyof typeof SETTINGS
export type Settings = { readonly [Name in SettingName]: z.output<(typeof SETTINGS)[Name]['schema']> }

/**
 * Parses the settings from an environment, once, at the start of a part.
 * @example const settings = readSettings(process.env)
 */
export function readSettings(environment: Readonly<Record<string, string | undefined>>): Settings {
  const parsed: Record<string, unknown> = {}
  for (const [name, { schema }] of Object.entries(SETTINGS)) {
    const outcome = schema.safeParse(environment[name])
    if (!outcome.success)
      throw fault('CONFIG_INVALID', name, { detail: outcome.error.issues[0]?.message ?? '' })
    parsed[name] = outcome.data
  }
  return parsed as Settings
}

function setting<Schema extends z.ZodType>(schema: Schema, meaning: string) {
  return { schema, meaning } as const
}
