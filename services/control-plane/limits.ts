import type { HostLimits } from '@torpor/actor-host'
import { LIMITS } from '@torpor/contracts'

/** The bounds that a control plane obeys; tests set smaller ones. */
export type PlaneLimits = HostLimits & {
  readonly [
    Name in
      | 'capacityPublishMs'
      | 'nodeLostMs'
      | 'nodeSuspectMs'
      | 'reconcileMs'
      | 'rpcBackoffMsMin'
      | 'rpcBackoffMsMax'
  ]: number
}

export const PLANE_LIMITS: PlaneLimits = LIMITS
