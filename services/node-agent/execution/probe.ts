import { get } from 'node:http'
import { connect } from 'node:net'
import { LIMITS, sleep } from '@torpor/contracts'
import type { ActorTemplateSpec, Clock } from '@torpor/contracts'
import { portsOf } from '../domain/sandbox-spec.ts'

export type ProbeOutcome = 'ready' | 'silent' | 'cancelled'

/**
 * Waits until the actor answers: its `wakeupProbe`, or else a connect to its first port, or nothing where it has none.
 * Each attempt has a connection of its own that is closed, since an open one must never meet a checkpoint.
 */
export async function probeUntilReady(
  clock: Clock,
  ipAddress: string,
  spec: ActorTemplateSpec,
  signal: AbortSignal,
): Promise<ProbeOutcome> {
  const attempt = attemptOf(ipAddress, spec)
  if (attempt === undefined) return 'ready'
  const timeoutMs = spec.containers[0]?.wakeupProbe?.timeout ?? LIMITS.probeTimeoutMs
  const deadlineMs = clock.monotonicMs() + timeoutMs
  let attemptMs: number = LIMITS.probeAttemptMsMin
  while (!signal.aborted) {
    const beganMs = clock.monotonicMs()
    if (await attempt(Math.min(attemptMs, Math.max(1, deadlineMs - beganMs)), signal)) return 'ready'
    if (clock.monotonicMs() >= deadlineMs) return 'silent'
    if (clock.monotonicMs() - beganMs >= attemptMs)
      attemptMs = Math.min(attemptMs * 2, LIMITS.probeAttemptMsMax)
    await sleep(clock, LIMITS.probeIntervalMs)
  }
  return 'cancelled'
}

type Attempt = (timeoutMs: number, signal: AbortSignal) => Promise<boolean>

function attemptOf(ipAddress: string, spec: ActorTemplateSpec): Attempt | undefined {
  const http = spec.containers[0]?.wakeupProbe?.httpGet
  if (http !== undefined) return httpAttempt(ipAddress, http.port, http.path)
  const port = portsOf(spec)[0]
  return port === undefined ? undefined : connectAttempt(ipAddress, port)
}

const httpAttempt =
  (host: string, port: number, path: string): Attempt =>
  (timeoutMs, signal) =>
    new Promise((resolve) => {
      const options = { host, port, path, agent: false, signal, headers: { connection: 'close' } }
      let answered = false
      const request = get(options, (response) => {
        answered = true
        const status = response.statusCode ?? 0
        response.resume()
        response.on('close', () => resolve(status >= 200 && status < 400))
      })
      const timer = setTimeout(() => request.destroy(), timeoutMs)
      request.on('error', () => undefined)
      request.on('close', () => {
        clearTimeout(timer)
        if (!answered) resolve(false)
      })
    })

const connectAttempt =
  (host: string, port: number): Attempt =>
  (timeoutMs) =>
    new Promise((resolve) => {
      const socket = connect({ host, port })
      let connected = false
      const timer = setTimeout(() => socket.destroy(), timeoutMs)
      socket.on('connect', () => {
        connected = true
        socket.end()
      })
      socket.resume()
      socket.on('error', () => undefined)
      socket.on('close', () => {
        clearTimeout(timer)
        resolve(connected)
      })
    })
