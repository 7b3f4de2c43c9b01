import type { LimitName } from '@torpor/contracts'
import { LIMITS } from '@torpor/contracts'

type GateLimitName = Extract<LimitName, `gate${string}`> | 'requestHeaderBytesMax' | 'requestHeadTimeoutMs'

/** The bounds of a gate, by their names in the list of all limits. */
export type GateLimits = { readonly [Name in GateLimitName | 'serverKeepAliveMs']: number }

/** Room for what a router adds to the head of a request. */
export const ROUTER_HEADER_BYTES_MAX = 4 * 1024

export const gateLimits = (some: Partial<GateLimits> = {}): GateLimits => ({ ...LIMITS, ...some })
