import { request } from 'node:http'
import type { Clock } from '@torpor/contracts'
import { LIMITS, fault, sleep } from '@torpor/contracts'

export type CounterAnswer = { readonly text: string; readonly elapsedMs: number; readonly attempts: number }

/** How long a call is tried again while parts of the system are away. */
const CALL_MS_MAX = 120_000

/**
 * Calls the counter through the router, as a careful client does: a call that got no answer is sent again under the same
 * idempotency key, which the counter counts once.
 */
export async function callCounter(
  clock: Clock,
  router: string,
  host: string,
  idempotencyKey: string,
  signal: AbortSignal,
): Promise<CounterAnswer> {
  const beganMs = clock.monotonicMs()
  let last = 'no answer'
  for (let attempts = 1; clock.monotonicMs() - beganMs < CALL_MS_MAX; attempts += 1) {
    signal.throwIfAborted()
    const sentMs = clock.monotonicMs()
    const answer = await callOnce(router, host, idempotencyKey, signal).catch((cause: unknown) => ({
      status: 0,
      text: String(cause),
    }))
    if (answer.status === 200) {
      return { text: answer.text.trim(), elapsedMs: clock.monotonicMs() - sentMs, attempts }
    }
    last = `${answer.status} ${answer.text}`
    if (answer.status >= 400 && answer.status < 500 && answer.status !== 429) break
    await sleep(clock, Math.min(LIMITS.rpcBackoffMsMin * 2 ** Math.min(attempts, 6), LIMITS.rpcBackoffMsMax))
  }
  throw fault('UPSTREAM_INVALID', host, { detail: last })
}

function callOnce(
  router: string,
  host: string,
  key: string,
  signal: AbortSignal,
): Promise<{ status: number; text: string }> {
  return new Promise((resolve, reject) => {
    const url = new URL(router)
    const call = request(
      {
        hostname: url.hostname,
        port: url.port,
        path: '/',
        headers: { host, 'idempotency-key': key, connection: 'close' },
        signal,
        timeout: LIMITS.rpcTimeoutMs * 2,
      },
      (response) => {
        const chunks: Buffer[] = []
        response.on('data', (chunk: Buffer) => chunks.push(chunk))
        response.on('end', () =>
          resolve({ status: response.statusCode ?? 0, text: Buffer.concat(chunks).toString() }),
        )
        response.on('error', reject)
      },
    )
    call.on('timeout', () => call.destroy(new Error('timed out')))
    call.on('error', reject)
    call.end()
  })
}

/** `memory count: 6 | file count: 6 | rootfs count: 6` → [6, 6, 6]. */
export const countsIn = (text: string): readonly number[] =>
  [...text.matchAll(/count: (\d+)/g)].map((match) => Number(match[1]))
