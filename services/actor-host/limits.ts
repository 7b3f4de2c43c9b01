import { LIMITS } from '@torpor/contracts'

/** The bounds that the host obeys; tests set smaller ones. */
export type HostLimits = {
  readonly [
    Name in
      | 'frameBytesMax'
      | 'eventBytesMax'
      | 'frameEventsMax'
      | 'frameCommandsMin'
      | 'appendsInFlightMax'
      | 'mailboxCommandsMax'
      | 'idempotencyWindowMs'
      | 'idempotencyEntriesMax'
      | 'clockSkewMsMax'
      | 'shardLeaseMs'
      | 'shardLeaseRenewMs'
      | 'recoveryBackoffMsMin'
      | 'recoveryBackoffMsMax'
      | 'timerRetryMs'
      | 'timersFiredAtOnceMax'
  ]: number
}

export const HOST_LIMITS: HostLimits = LIMITS
