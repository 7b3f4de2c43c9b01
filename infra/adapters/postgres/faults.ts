import { TorporError, fault } from '@torpor/contracts'

/**
 * Classes of SQLSTATE that say that a statement itself is wrong: trying again cannot help. Everything else (no connection,
 * shutting down, full disk, read-only, time-out, deadlock) is a database that is not there just now.
 */
const WRONG_STATEMENT = /^(22|23|2F|34|42|44)/
/** A table that is not there: the projector has not made it yet. */
const UNDEFINED_TABLE = '42P01'

/** Runs work on the database; what it throws becomes READ_MODEL_UNAVAILABLE or, for a defect of ours, INTERNAL. */
export async function withFaults<Result>(work: () => Promise<Result>): Promise<Result> {
  try {
    return await work()
  } catch (cause) {
    throw cause instanceof TorporError ? cause : faultOf(cause)
  }
}

function faultOf(cause: unknown): TorporError {
  const detail = messageOf(cause)
  const code = isWrongStatement(cause) ? 'INTERNAL' : 'READ_MODEL_UNAVAILABLE'
  return fault(code, 'PostgreSQL', { detail, cause })
}

/** The database answered, so the connection is good; the answer is an error. */
export const isWrongStatement = (cause: unknown): boolean =>
  cause instanceof Error &&
  'code' in cause &&
  typeof cause.code === 'string' &&
  WRONG_STATEMENT.test(cause.code) &&
  cause.code !== UNDEFINED_TABLE

/** A refused connection to several addresses has its reasons inside. */
function messageOf(cause: unknown): string {
  if (cause instanceof AggregateError) return cause.errors.map(messageOf).join(', ')
  return cause instanceof Error ? cause.message : String(cause)
}
