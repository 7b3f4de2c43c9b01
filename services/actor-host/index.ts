export { createActorHost } from './actor-host.ts'
export type { ActorHost, ActorHostOptions, Commit, LiveEntity } from './actor-host.ts'
export type { HostLimits } from './limits.ts'
export type { ReadResult } from './shard/waiting.ts'
