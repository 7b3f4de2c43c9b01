import type { Clock, Random, Refusal, Reply } from '@torpor/contracts'
import { isUndecided, LIMITS, TorporError, refusalOf, refuse, requestAgain, sleep } from '@torpor/contracts'

/**
 * One request, sent again until it is answered for good.
 * 1. Every attempt sends the same bytes, so the same command id: it is applied once however often it arrives.
 *    Within an attempt too: who took it may have ended with it.
 * 2. Only codes that say "not decided" are tried again; a refusal is an answer.
 */

export type CallWorld = { readonly clock: Clock; readonly random: Random }

export type Call = {
  /** Sends the same bytes at each attempt; rejects as the bus does. */
  send(timeoutMs: number): Promise<Uint8Array>
  /** What the errors name. */
  readonly id: string
  /** Over all attempts, in milliseconds; without it only `rpcAttemptsMax` ends the attempts. */
  readonly timeoutMs?: number | undefined
  readonly signal?: AbortSignal | undefined
}

/** Resolves with the result; throws a TorporError with the refusal's code, or the signal's reason. */
export async function callUntilAnswered(world: CallWorld, call: Call): Promise<unknown> {
  const startMs = world.clock.monotonicMs()
  const leftMs = (): number =>
    call.timeoutMs === undefined ? Infinity : call.timeoutMs - (world.clock.monotonicMs() - startMs)
  for (let attempt = 1; ; attempt += 1) {
    call.signal?.throwIfAborted()
    const reply = await untilAborted(attemptOnce(world, call, leftMs()), call.signal)
    if (reply.ok) return reply.result
    const delayMs = backoffMs(attempt, world.random)
    const mayTryAgain = isUndecided(reply.error.code) && attempt < LIMITS.rpcAttemptsMax
    if (!mayTryAgain || delayMs >= leftMs()) throw new TorporError(reply.error)
    await untilAborted(sleep(world.clock, delayMs), call.signal)
  }
}

/** Between half and all of the doubled delay, so that callers that failed together do not come back together. */
function backoffMs(attempt: number, random: Random): number {
  const fullMs = Math.min(LIMITS.rpcBackoffMsMax, LIMITS.rpcBackoffMsMin * 2 ** (attempt - 1))
  return fullMs * (0.5 + (random.bytes(1)[0] ?? 0) / 510)
}

async function attemptOnce(world: CallWorld, call: Call, leftMs: number): Promise<Reply<unknown>> {
  const timeoutMs = Math.max(1, Math.min(LIMITS.rpcTimeoutMs, Math.ceil(leftMs)))
  try {
    const answer = await requestAgain(world.clock, (ms) => call.send(ms), {
      timeoutMs,
      againMs: LIMITS.rpcAskAgainMs,
      isFinal: (bytes) => isDecided(parseReply(bytes, call.id)),
    })
    return parseReply(answer, call.id)
  } catch (thrown) {
    return { ok: false, error: refusalOf(thrown) }
  }
}

const isDecided = (reply: Reply<unknown>): boolean => reply.ok || !isUndecided(reply.error.code)

function parseReply(bytes: Uint8Array, id: string): Reply<unknown> {
  const text = new TextDecoder().decode(bytes)
  try {
    const reply = JSON.parse(text) as { ok?: unknown; error?: Partial<Refusal> }
    if (reply.ok === true) return reply as Reply<unknown>
    if (reply.ok === false && typeof reply.error?.code === 'string') return reply as Reply<unknown>
  } catch {
    return { ok: false, error: refuse('INTERNAL', id, 'the answer is not JSON') }
  }
  return { ok: false, error: refuse('INTERNAL', id, 'the answer is no reply') }
}

async function untilAborted<Value>(work: Promise<Value>, signal: AbortSignal | undefined): Promise<Value> {
  if (signal === undefined) return work
  const { promise: aborted, reject } = Promise.withResolvers<never>()
  const onAbort = (): void => reject(signal.reason)
  signal.addEventListener('abort', onAbort, { once: true })
  try {
    return await Promise.race([work, aborted])
  } finally {
    signal.removeEventListener('abort', onAbort)
  }
}
