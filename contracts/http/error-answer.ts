import type { Refusal } from '../errors.ts'
import { ERRORS } from '../errors.ts'
import { HTTP_HEADERS } from './headers.ts'

export type ErrorAnswer = {
  readonly status: number
  /** Flat: name, value, name, value. */
  readonly headers: readonly string[]
  readonly body: string
}

/** What an error answer can say beside the refusal. */
export type ErrorExtras = {
  readonly retryAfterSeconds?: number
  /** Place among those that wait, from 1. */
  readonly position?: number
}

/**
 * The HTTP answer that a refusal makes: status from the registry, body `{ code, message, remedy, id }` and, where known,
 * `retryAfterSeconds` (also as `Retry-After`) and `position`.
 * @example errorAnswer(refuse('ACTOR_UNKNOWN', 'demo/x')).status === 404
 */
export function errorAnswer(refusal: Refusal, extras: ErrorExtras = {}): ErrorAnswer {
  const { code, message, remedy, id } = refusal
  const body = `${JSON.stringify({ code, message, remedy, id, ...extras })}\n`
  const headers = [
    HTTP_HEADERS.error,
    code,
    'content-type',
    'application/json',
    'content-length',
    String(Buffer.byteLength(body)),
  ]
  if (extras.retryAfterSeconds !== undefined) headers.push('retry-after', String(extras.retryAfterSeconds))
  return { status: ERRORS[code].status, headers, body }
}
