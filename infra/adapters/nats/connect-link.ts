import { setTimeout as sleep } from 'node:timers/promises'
import { fault, inboxPrefix, LIMITS, systemClock } from '@torpor/contracts'
import type { NatsConnection } from '@nats-io/transport-node'
import { connect, errors } from '@nats-io/transport-node'
import type { BusNotice } from './link.ts'
import { BusLink } from './link.ts'

export type LinkOptions = {
  readonly url: string
  readonly user?: string
  readonly password?: string
  /** How the server's own lists name this connection. */
  readonly name: string
  readonly onNotice?: (notice: BusNotice) => void
}

const OLDEST = [2, 12] as const

/**
 * Connects, for at most `busConnectMs`; once connected, an interruption is repaired for ever.
 * Faults: UNAUTHENTICATED, BUS_UNAVAILABLE, BUS_TOO_OLD, each in one line that says what to do.
 */
export async function connectLink(options: LinkOptions): Promise<BusLink> {
  const connection = await connectInTime(options)
  try {
    checkServer(connection, options.url)
  } catch (cause) {
    await connection.close()
    throw cause
  }
  return new BusLink(connection, {
    url: options.url,
    user: options.user ?? '',
    notice: options.onNotice ?? (() => undefined),
  })
}

async function connectInTime(options: LinkOptions): Promise<NatsConnection> {
  const deadline = systemClock.monotonicMs() + LIMITS.busConnectMs
  for (;;) {
    try {
      return await connect(clientOptions(options))
    } catch (cause) {
      if (isAuthentication(cause)) {
        throw fault('UNAUTHENTICATED', options.url, { detail: `user ${options.user ?? '(none)'}`, cause })
      }
      if (systemClock.monotonicMs() >= deadline) throw fault('BUS_UNAVAILABLE', options.url, { cause })
      await sleep(LIMITS.busConnectRetryMs)
    }
  }
}

function clientOptions(options: LinkOptions) {
  const user = options.user ?? ''
  return {
    servers: options.url.split(','),
    name: options.name,
    inboxPrefix: inboxPrefix(user),
    timeout: LIMITS.busDialTimeoutMs,
    maxReconnectAttempts: -1,
    reconnectTimeWait: LIMITS.busReconnectWaitMs,
    reconnectJitter: LIMITS.busReconnectWaitMs,
    // A server whose users are being changed refuses for a moment; that must not end the connection for good.
    ignoreAuthErrorAbort: true,
    pingInterval: LIMITS.busPingIntervalMs,
    maxPingOut: LIMITS.busPingsOutMax,
    ...(user === '' ? {} : { user, pass: options.password ?? '' }),
  }
}

function checkServer(connection: NatsConnection, url: string): void {
  const version = connection.info?.version ?? ''
  if (!isNewEnough(version)) {
    throw fault('BUS_TOO_OLD', url, { detail: `found nats-server ${version === '' ? '(unknown)' : version}` })
  }
  if (connection.info?.jetstream !== true) {
    throw fault('BUS_UNAVAILABLE', url, {
      detail: 'JetStream is off: start nats-server with a jetstream block',
    })
  }
}

/** True for 2.12 and newer; false for what is no version at all. */
export function isNewEnough(version: string): boolean {
  const [major = Number.NaN, minor = Number.NaN] = version.split('.').map(Number)
  return major > OLDEST[0] || (major === OLDEST[0] && minor >= OLDEST[1])
}

const isAuthentication = (thrown: unknown): boolean =>
  thrown instanceof errors.AuthorizationError || thrown instanceof errors.UserAuthenticationExpiredError
