import {
  ALL,
  BUCKETS,
  COMMANDS,
  GET_SYSTEM,
  inboxPrefix,
  QUERIES,
  STREAMS,
  SUBJECTS,
  WHOLE_SYSTEM,
} from '@torpor/contracts'
import type { NatsUser } from '@torpor/adapter-nats/server-config'

/** Who connects to the bus. Each role may say and hear what it needs and no more. */
export type BusRole =
  | { readonly kind: 'control-plane'; readonly shards: number }
  | { readonly kind: 'node-agent'; readonly node: string }
  | { readonly kind: 'router' }
  | { readonly kind: 'projector'; readonly shards: number }
  /** SDK and CLI. With `atespaces` only these, and then not straight to the owners of shards, who see no user. */
  | { readonly kind: 'client'; readonly name: string; readonly atespaces?: readonly string[] }
  | { readonly kind: 'viewer'; readonly name: string }
  /** Whoever names no user, where a server lets such in: people on the machine that it runs on, with any NATS client. */
  | { readonly kind: 'anyone' }

type Permissions = Pick<NatsUser, 'publish' | 'subscribe' | 'answersRequests'>

const ANY = '*'
const KV_SHARDS = `KV_${BUCKETS.shards}`
/** What only a node says about itself, on the fast door. */
const NODE_VERBS = ['JoinNode', 'RenewNodeLease']

/**
 * The user of a role, as the configuration of nats-server takes it.
 * @example natsServerConfig({ port: 4222, storeDir, users: [busUser({ kind: 'router' }, password)] })
 */
export function busUser(role: BusRole, password: string): NatsUser {
  const user = userName(role)
  const { publish, subscribe, answersRequests } = permissionsOf(role)
  const inbox = `${inboxPrefix(role.kind === 'anyone' ? '' : user)}.>`
  return { user, password, publish, subscribe: [inbox, ...subscribe], answersRequests }
}

/** Name of a role's user; it is also the name of its inbox. */
export function userName(role: BusRole): string {
  if (role.kind === 'node-agent') return `node-${role.node}`
  return role.kind === 'client' || role.kind === 'viewer' ? role.name : role.kind
}

function permissionsOf(role: BusRole): Permissions {
  switch (role.kind) {
    case 'control-plane':
      return controlPlane(role.shards)
    case 'node-agent':
      return nodeAgent(role.node)
    case 'router':
      return router()
    case 'projector':
      return projector(role.shards)
    case 'client':
      return client(role.atespaces)
    case 'viewer':
      return viewer()
    case 'anyone':
      return anyone()
  }
}

function controlPlane(shards: number): Permissions {
  const logs = shardNumbers(shards)
  const streams = [...logs.map(STREAMS.log), STREAMS.commands, STREAMS.events, STREAMS.nodeCommands]
  const all = [...streams, STREAMS.reports, KV_SHARDS]
  return {
    publish: [
      ...logs.map(SUBJECTS.log),
      ALL.events,
      ALL.rpc,
      ALL.shardRpc,
      ALL.shardSystem,
      ALL.nodeCommands,
      ALL.queries,
      `$KV.${BUCKETS.shards}.>`,
      '$JS.API.INFO',
      ...all.flatMap((stream) => [`$JS.API.STREAM.CREATE.${stream}`, `$JS.API.STREAM.INFO.${stream}`]),
      ...[...logs.map(STREAMS.log), STREAMS.commands, KV_SHARDS].flatMap((stream) => readApi(stream)),
    ],
    subscribe: [ALL.rpc, ALL.shardRpc, ALL.shardSystem, ALL.reports, ALL.capacity, ALL.queries],
    answersRequests: true,
  }
}

function nodeAgent(node: string): Permissions {
  return {
    publish: [
      SUBJECTS.report(node, { atespace: ANY, name: ANY }),
      SUBJECTS.capacity(node),
      ...NODE_VERBS.map((verb) => SUBJECTS.rpc({ atespace: WHOLE_SYSTEM, name: node }, verb)),
      ...getSystem(),
      // What it missed while it was away, and nobody else's.
      ...readApi(STREAMS.nodeCommands, ALL.nodeCommandsOf(node)),
    ],
    subscribe: [ALL.nodeCommandsOf(node)],
    answersRequests: true,
  }
}

const router = (): Permissions => ({
  publish: [
    ...['GetActor', 'ResumeActor'].map((verb) => SUBJECTS.rpc({ atespace: ANY, name: ANY }, verb)),
    ALL.shardRpc,
    ...getSystem(),
  ],
  subscribe: [ALL.events, ALL.capacity],
  answersRequests: false,
})

const projector = (shards: number): Permissions => ({
  publish: shardNumbers(shards)
    .map(STREAMS.log)
    .flatMap((stream) => readApi(stream)),
  subscribe: [ALL.queries],
  answersRequests: true,
})

function client(atespaces: readonly string[] | undefined): Permissions {
  const scopes = atespaces ?? [ANY]
  const verbs = [...Object.keys(COMMANDS), ...Object.keys(QUERIES)]
  const addressed = scopes.flatMap((atespace) =>
    verbs.flatMap((verb) => [
      SUBJECTS.rpc({ atespace, name: ANY }, verb),
      SUBJECTS.command({ atespace, name: ANY }, verb),
    ]),
  )
  if (atespaces === undefined) {
    return {
      publish: [...addressed, ALL.shardRpc, ALL.queries, ...getSystem(), ...readApi(STREAMS.events)],
      subscribe: [ALL.events],
      answersRequests: false,
    }
  }
  // A reader of the whole stream would see the other atespaces: such a user hears events as they come.
  const events = atespaces.map((atespace) => SUBJECTS.event({ atespace, name: ANY }))
  return { publish: [...addressed, ...getSystem()], subscribe: events, answersRequests: false }
}

const viewer = (): Permissions => ({
  publish: [
    ...Object.keys(QUERIES).map((verb) => SUBJECTS.rpc({ atespace: ANY, name: ANY }, verb)),
    ALL.queries,
    ...getSystem(),
    ...readApi(STREAMS.events),
  ],
  subscribe: [ALL.events],
  answersRequests: false,
})

/** A client that also looks into what the parts say to each other. It writes none of it. */
function anyone(): Permissions {
  const { publish, subscribe, answersRequests } = client(undefined)
  const streams = [STREAMS.events, STREAMS.nodeCommands, STREAMS.reports]
  return {
    publish: [...publish, ...streams.flatMap((stream) => readApi(stream)), ...lookApi(streams)],
    subscribe: [...subscribe, ALL.nodeCommands, ALL.reports],
    answersRequests,
  }
}

const getSystem = (): readonly string[] => [
  SUBJECTS.query(GET_SYSTEM),
  SUBJECTS.rpc({ atespace: ANY, name: ANY }, GET_SYSTEM),
]

/** What reading a stream in order needs; with a filter no more of it than that. */
const readApi = (stream: string, filter?: string): readonly string[] => [
  `$JS.API.STREAM.INFO.${stream}`,
  `$JS.API.CONSUMER.CREATE.${stream}.${filter === undefined ? '>' : `${ANY}.${filter}`}`,
  `$JS.API.CONSUMER.MSG.NEXT.${stream}.>`,
  `$JS.API.CONSUMER.DELETE.${stream}.>`,
]

/** What the NATS CLI asks beside that, to list streams and to show one message. */
const lookApi = (streams: readonly string[]): readonly string[] => [
  '$JS.API.INFO',
  '$JS.API.STREAM.NAMES',
  '$JS.API.STREAM.LIST',
  `$JS.API.STREAM.INFO.${ANY}`,
  ...streams.flatMap((stream) => [
    `$JS.API.CONSUMER.INFO.${stream}.${ANY}`,
    `$JS.API.STREAM.MSG.GET.${stream}`,
    `$JS.API.DIRECT.GET.${stream}`,
    `$JS.API.DIRECT.GET.${stream}.>`,
  ]),
]

const shardNumbers = (shards: number): readonly number[] =>
  Array.from({ length: shards }, (_, shard) => shard)
