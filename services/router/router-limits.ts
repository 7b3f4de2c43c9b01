import type { LimitName } from '@torpor/contracts'

type RouterLimitName = Extract<
  LimitName,
  | 'gateConnectTimeoutMs'
  | 'parkMs'
  | 'parkPlacedExtraMs'
  | 'parkedRequestsMax'
  | 'requestHeaderBytesMax'
  | 'requestHeadTimeoutMs'
  | 'routeTimeoutMs'
  | 'routerDrainMs'
  | 'routerIdleConnectionMs'
  | 'routerIdleConnectionsPerGateMax'
  | 'routesMax'
  | 'rpcBackoffMsMax'
  | 'rpcBackoffMsMin'
  | 'serverKeepAliveMs'
  | 'wakeRetriesAtOnceMax'
>

/** The bounds of a router, by their names in the list of all limits. */
export type RouterLimits = { readonly [Name in RouterLimitName]: number }
