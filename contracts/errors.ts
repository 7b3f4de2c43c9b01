/**
 * The one registry of what can go wrong, by code: HTTP status, exit code of `torpor`, whether trying again can help,
 * and what to do about it. Bodies, exit codes and the reference page are made from it.
 */
export const ERRORS = {
  NAME_INVALID: entry(
    400,
    2,
    'never',
    'is no DNS label',
    'use 1–63 of a–z, 0–9 and "-", no "-" at either end',
  ),
  COMMAND_MALFORMED: entry(
    400,
    2,
    'never',
    'is not a valid command',
    'compare it with the schema of the command',
  ),
  COMMAND_UNKNOWN: entry(400, 2, 'never', 'is no known command', 'see the list of commands in the reference'),
  FIELD_UNKNOWN: entry(
    400,
    2,
    'never',
    'has a field that is not known',
    'remove the field or correct its name',
  ),
  DOCUMENT_INVALID: entry(
    400,
    2,
    'never',
    'is no valid resource document',
    'correct it and apply it again; nothing was changed',
  ),
  FILE_UNREADABLE: entry(400, 2, 'never', 'cannot be read', 'check the path and its permissions'),
  COMMAND_EXPIRED: entry(
    409,
    4,
    'never',
    'is older than the idempotency window',
    'read the state and send a new command',
  ),
  COMMAND_ID_REUSED: entry(
    409,
    4,
    'never',
    'was used before for another command',
    'use a new id for each command',
  ),
  EVENT_TOO_LARGE: entry(
    413,
    2,
    'never',
    'makes an event that is too large',
    'send less data in one command',
  ),
  ATESPACE_UNKNOWN: entry(404, 3, 'never', 'no such atespace', 'create it: torpor create atespace NAME'),
  ATESPACE_NOT_EMPTY: entry(
    409,
    4,
    'later',
    'still holds something',
    'delete its actors and templates first',
  ),
  TEMPLATE_UNKNOWN: entry(404, 3, 'never', 'no such template', 'create it: torpor apply -f FILE'),
  TEMPLATE_NOT_READY: entry(
    409,
    4,
    'later',
    'has no golden snapshot yet',
    'wait until the template is ready, then try again',
  ),
  TEMPLATE_FAILED: entry(
    409,
    4,
    'never',
    'could not take its golden snapshot',
    'see the reason, correct the template and create it anew',
  ),
  ACTOR_UNKNOWN: entry(
    404,
    3,
    'never',
    'no such actor',
    'create it: torpor create actor NAME --template TEMPLATE',
  ),
  ACTOR_GONE: entry(410, 3, 'never', 'was deleted', 'create it again under this or another name'),
  WORKER_POOL_UNKNOWN: entry(404, 3, 'never', 'no such worker pool', 'create it: torpor apply -f FILE'),
  NODE_UNKNOWN: entry(404, 3, 'never', 'no such node', 'start a node agent with this name'),
  ALREADY_EXISTS: entry(409, 4, 'never', 'exists already', 'choose another name, or delete it first'),
  ACTOR_STATE_CONFLICT: entry(
    409,
    4,
    'later',
    'is in a state that does not allow this',
    'see what is allowed in this state: torpor explain',
  ),
  ACTOR_CRASHED: entry(409, 4, 'never', 'has crashed', 'revert it: torpor revert actor NAME'),
  ACTOR_EXITED: entry(
    502,
    5,
    'later',
    'ended while it served the request',
    'see its logs and its crash reason',
  ),
  CLASS_UNKNOWN: entry(400, 2, 'never', 'is no sandbox class', 'use gvisor or microvm: the set is closed'),
  IMAGE_UNKNOWN: entry(
    400,
    2,
    'never',
    'no such image',
    'check the reference, and that the node can reach it',
  ),
  IMAGE_INVALID: entry(
    400,
    2,
    'never',
    'is no usable image',
    'build it as an OCI image with a process to run',
  ),
  PROBE_FAILED: entry(
    504,
    5,
    'never',
    'never answered its probe',
    'see its logs; check port, path and timeout of wakeupProbe',
  ),
  PROCESS_EXITED: entry(502, 5, 'never', 'ended before it was ready', 'see its logs and its exit code'),
  PLACEMENT_REQUIRED: entry(
    500,
    1,
    'now',
    'needs a node that admits it',
    'this never leaves the control plane',
  ),
  NO_CAPACITY: entry(503, 6, 'later', 'no worker has room', 'scale the pool, or suspend something'),
  LOT_FULL: entry(
    503,
    6,
    'later',
    'too many requests wait already',
    'try again after the time that Retry-After names',
  ),
  REQUEST_CUT: entry(503, 6, 'later', 'was cut by a forced suspend', 'send it again if it may run twice'),
  RUNTIME_INCOMPATIBLE: entry(
    409,
    4,
    'later',
    'needs a sandbox runtime that this node does not have',
    'start a node with the runtime that the snapshot names, or allow a cold start',
  ),
  NODE_UNAVAILABLE: entry(503, 6, 'later', 'the node does not answer', 'try again; see torpor get nodes'),
  SNAPSHOT_ON_LOST_NODE: entry(
    503,
    6,
    'later',
    'its newest snapshot is on a node that is lost',
    'bring the node back, or allow an older one: onNodeLoss: older',
  ),
  WAKE_TIMEOUT: entry(
    504,
    5,
    'later',
    'was placed but not ready in time',
    'try again; torpor history tells the phases',
  ),
  ROUTE_TIMEOUT: entry(
    504,
    5,
    'later',
    'did not answer in time',
    'raise the route timeout, or see why the actor is slow',
  ),
  ASSIGNMENT_STALE: entry(421, 6, 'now', 'does not run here any more', 'ask again where it runs'),
  ASSIGNMENT_OLD: entry(
    409,
    4,
    'never',
    'carries an assignment that was replaced',
    'nothing: a newer one is in force',
  ),
  SUSPEND_NO_SPACE: entry(
    507,
    6,
    'later',
    'the node has no disk left for its snapshot',
    'free disk on the node or raise its snapshot budget',
  ),
  SUSPEND_REFUSED: entry(
    409,
    4,
    'later',
    'still has open requests',
    'wait, or use --drain drain or --drain force',
  ),
  SUSPEND_FAILED: entry(
    500,
    5,
    'later',
    'could not be checkpointed and goes on running',
    'see the reason; try again',
  ),
  SNAPSHOT_DAMAGED: entry(
    500,
    5,
    'never',
    'a snapshot does not match its manifest',
    'revert the actor to an older generation',
  ),
  SNAPSHOT_UNKNOWN: entry(404, 3, 'never', 'no such snapshot', 'see torpor get actor NAME -o yaml'),
  RESTORE_FAILED: entry(500, 5, 'later', 'could not be restored', 'see the reason; revert the actor'),
  STORE_UNAVAILABLE: entry(
    503,
    6,
    'later',
    'the object store does not answer',
    'check the store; uploads are tried again',
  ),
  LOG_UNAVAILABLE: entry(
    503,
    6,
    'later',
    'the log takes no events',
    'check the bus, its disk and its quorum',
  ),
  SHARD_MOVED: entry(503, 6, 'now', 'the shard has another owner', 'ask again'),
  SHARD_BUSY: entry(503, 6, 'later', 'too many commands wait', 'try again after a moment'),
  BUS_UNAVAILABLE: entry(
    503,
    6,
    'later',
    'the bus does not answer',
    'check that nats-server runs and the address is right',
  ),
  BUS_TOO_OLD: entry(500, 7, 'never', 'the bus is older than 2.12', 'install nats-server 2.12 or newer'),
  READ_MODEL_UNAVAILABLE: entry(
    503,
    6,
    'later',
    'the read model does not answer',
    'check PostgreSQL and the projector; reads of one actor work all the same',
  ),
  REQUEST_MALFORMED: entry(400, 2, 'never', 'is no valid request', 'send a valid HTTP request'),
  REQUEST_TIMEOUT: entry(408, 2, 'later', 'was not sent in time', 'send the whole request head at once'),
  REQUEST_TOO_LARGE: entry(413, 2, 'never', 'is too large', 'send less'),
  HEADERS_TOO_LARGE: entry(431, 2, 'never', 'has too large headers', 'send smaller headers'),
  ADDRESS_INVALID: entry(
    400,
    2,
    'never',
    'names no actor',
    'send Host: ACTOR.ATESPACE.DOMAIN or torpor-target-actor: ATESPACE/ACTOR',
  ),
  UPSTREAM_INVALID: entry(502, 5, 'later', 'gave an answer that is not HTTP', 'see the logs of the actor'),
  QUOTA_EXCEEDED: entry(429, 6, 'later', 'the quota is used up', 'raise the quota or free something'),
  UNAUTHENTICATED: entry(401, 8, 'never', 'no valid identity', 'give a valid token, or user and password'),
  FORBIDDEN: entry(403, 8, 'never', 'is not allowed', 'ask for the permission'),
  CONFIG_INVALID: entry(500, 2, 'never', 'is not a valid setting', 'see the configuration reference'),
  SETUP_INCOMPLETE: entry(500, 7, 'never', 'the machine lacks something', 'run the commands that are named'),
  INTERNAL: entry(500, 1, 'later', 'failed inside', 'report it with the correlation id'),
} as const satisfies Record<string, ErrorEntry>

export type Retry = 'never' | 'later' | 'now'

export type ErrorEntry = {
  readonly status: number
  readonly exitCode: number
  readonly retry: Retry
  readonly problem: string
  readonly remedy: string
}

export type ErrorCode = keyof typeof ERRORS

/** A "no" as a value: it changes nothing, and its text says what, which and what to do. */
export type Refusal = {
  readonly code: ErrorCode
  /** Which: the id, name or value that the refusal is about. */
  readonly id: string
  readonly message: string
  readonly remedy: string
  readonly retry: Retry
  /** More than one line needs: a reason from below, the state found, seconds to wait. */
  readonly detail?: string
}

/**
 * Makes a refusal of the registry.
 * @example refuse('ACTOR_UNKNOWN', 'demo/x').message === 'demo/x: no such actor'
 */
export function refuse(code: ErrorCode, id: string, detail?: string): Refusal {
  const { problem, remedy, retry } = ERRORS[code]
  const message = `${id}: ${problem}${detail === undefined ? '' : ` (${detail})`}`
  return { code, id, message, remedy, retry, ...(detail === undefined ? {} : { detail }) }
}

/** One line for people: `demo/x: no such actor (ACTOR_UNKNOWN); create it: …`. */
export const refusalLine = (refusal: Refusal): string =>
  `${refusal.message} [${refusal.code}]; ${refusal.remedy}`

/** A fault: something that should work did not. Thrown, never returned; carries a code of the registry. */
export class TorporError extends Error {
  readonly code: ErrorCode
  readonly retry: Retry
  readonly refusal: Refusal

  constructor(refusal: Refusal, options?: { cause?: unknown }) {
    super(refusalLine(refusal), options)
    this.name = 'TorporError'
    this.code = refusal.code
    this.retry = refusal.retry
    this.refusal = refusal
  }
}

/** The fault for `code`: `throw fault('BUS_UNAVAILABLE', url, { cause })`. */
export const fault = (
  code: ErrorCode,
  id: string,
  options?: { detail?: string; cause?: unknown },
): TorporError =>
  new TorporError(
    refuse(code, id, options?.detail),
    options?.cause === undefined ? undefined : { cause: options.cause },
  )

/** What any thrown value says, as a refusal: a fault keeps its code, everything else is INTERNAL. */
export const refusalOf = (thrown: unknown): Refusal =>
  thrown instanceof TorporError
    ? thrown.refusal
    : refuse('INTERNAL', 'unexpected', thrown instanceof Error ? thrown.message : String(thrown))

function entry(status: number, exitCode: number, retry: Retry, problem: string, remedy: string): ErrorEntry {
  return { status, exitCode, retry, problem, remedy }
}

/** Codes by which whoever should decide says that it decided nothing, or that nobody was there to decide. */
const UNDECIDED: ReadonlySet<ErrorCode> = new Set([
  'BUS_UNAVAILABLE',
  'LOG_UNAVAILABLE',
  'SHARD_BUSY',
  'SHARD_MOVED',
])

/**
 * True when the command may still be decided: the same bytes, with the same id, are sent again. Any other refusal is an answer.
 * @example isUndecided('SHARD_MOVED') // true
 */
export const isUndecided = (code: ErrorCode): boolean => UNDECIDED.has(code)
