import { S3ServiceException } from '@aws-sdk/client-s3'
import { fault } from '@torpor/contracts'

const CREDENTIALS_REFUSED = new Set([
  'SignatureDoesNotMatch',
  'InvalidAccessKeyId',
  'AccessDenied',
  'Forbidden',
  'ExpiredToken',
  'InvalidToken',
])
const NO_CREDENTIALS = new Set(['CredentialsProviderError', 'TokenProviderError'])
const UNKNOWN_KEY = new Set(['NoSuchKey', 'NotFound'])

const nameOf = (thrown: unknown): string => (thrown instanceof Error ? thrown.name : '')
const statusOf = (thrown: unknown): number =>
  thrown instanceof S3ServiceException ? (thrown.$metadata.httpStatusCode ?? 0) : 0

export const isUnknownKey = (thrown: unknown): boolean => UNKNOWN_KEY.has(nameOf(thrown))
/** The condition of a put was not met: the key is there. */
export const isConditionFailed = (thrown: unknown): boolean => statusOf(thrown) === 412
/** Another put of the same key is just being decided, or the place of the object is just being made or removed. */
export const isConflict = (thrown: unknown): boolean => statusOf(thrown) === 409
/** How often a request was sent before it failed; its first sending may have done its work. */
export const attemptsOf = (thrown: unknown): number =>
  thrown instanceof S3ServiceException ? (thrown.$metadata.attempts ?? 1) : 1

/** What a thrown value means for a caller of the port. */
export function toFault(thrown: unknown, key: string, bucket: string): Error {
  if (isUnknownKey(thrown)) return fault('SNAPSHOT_UNKNOWN', key, { cause: thrown })
  return fault('STORE_UNAVAILABLE', key, { detail: explain(thrown, bucket), cause: thrown })
}

function explain(thrown: unknown, bucket: string): string {
  const name = nameOf(thrown)
  if (CREDENTIALS_REFUSED.has(name)) return `the store refuses the credentials: ${name}`
  if (NO_CREDENTIALS.has(name)) return 'no credentials in the environment or the credentials file'
  if (name === 'NoSuchBucket') return `the bucket ${bucket} does not exist`
  return thrown instanceof Error ? `${name}: ${thrown.message}` : String(thrown)
}
