import type {
  Bus,
  Clock,
  CloudEvent,
  CommandInput,
  CommandName,
  EntityRef,
  EventFeed,
  ListQueryName,
  ListReply,
  ListRequest,
  QueryName,
  Random,
  ResourceDocument,
} from '@torpor/contracts'
import {
  GET_READ_MODEL,
  GET_SYSTEM,
  LIMITS,
  SUBJECTS,
  TorporError,
  WHOLE_SYSTEM,
  checkRef,
  displayName,
  systemClock,
  systemRandom,
  uuidV7,
} from '@torpor/contracts'
import type { ActorHandle } from './actor-handle.ts'
import { actorHandle } from './actor-handle.ts'
import type { ApplyOutcome } from './apply.ts'
import { applyDocument } from './apply.ts'
import { callUntilAnswered } from './call.ts'
import type { EventsOptions } from './events.ts'
import { followEvents } from './events.ts'
import { ownerDoor } from './owner-door.ts'
import type { AtespaceHandle, NodeHandle, TemplateHandle, WorkerPoolHandle } from './resource-handles.ts'
import { atespaceHandle, nodeHandle, templateHandle, workerPoolHandle } from './resource-handles.ts'
import type { CommandResult, ListItem, QueryResult, ReadModelInfo, SystemInfo } from './results.ts'

export type ClientOptions = {
  readonly bus: Bus
  /** Needed for `events` only. */
  readonly feed?: EventFeed | undefined
  readonly clock?: Clock | undefined
  readonly random?: Random | undefined
  /** Who sends: a name for people, and headers that prove it. The principal of events is set by the owner, never by this. */
  readonly identity?: { readonly name: string; readonly headers?: Readonly<Record<string, string>> }
}

export type CallOptions = {
  /** A UUIDv7. The same id is applied once in the idempotency window: keep it to ask again after a crash of the caller. */
  readonly id?: string | undefined
  readonly correlationId?: string | undefined
  /** Ends the waiting. What was sent may happen all the same. */
  readonly signal?: AbortSignal | undefined
  /** In milliseconds, over all attempts. */
  readonly timeoutMs?: number | undefined
}

/** Sends what the typed handles are made of. */
export interface Calls {
  /**
   * Sends a command and waits for its outcome. Tried again with the same id while the bus, the log or the shard's owner is
   * away (`rpcAttemptsMax`, `rpcBackoffMsMin`–`rpcBackoffMsMax`); never after a refusal.
   * @throws TorporError with the refusal's code, for example ACTOR_UNKNOWN.
   * @example await client.command(actorRef('demo', 'x'), 'ResumeActor', {})
   */
  command<Name extends CommandName>(
    ref: EntityRef,
    verb: Name,
    data: CommandInput<Name>,
    options?: CallOptions,
  ): Promise<CommandResult<Name>>
  /** Asks the owner of the entity's shard; answered from committed state. */
  query<Name extends QueryName>(
    ref: EntityRef,
    verb: Name,
    data?: Readonly<Record<string, unknown>>,
    options?: CallOptions,
  ): Promise<QueryResult<Name>>
  /** One page from the read model, which may lag behind the log. */
  list<Name extends ListQueryName>(
    verb: Name,
    request?: Partial<ListRequest>,
    options?: CallOptions,
  ): Promise<ListReply<ListItem<Name>>>
  /** Every item of every page, asked for page by page. */
  listAll<Name extends ListQueryName>(
    verb: Name,
    request?: Partial<ListRequest>,
    options?: CallOptions,
  ): AsyncIterable<ListItem<Name>>
}

export interface TorporClient extends Calls {
  /** @example await client.actor('demo', 'my-counter-1').resume() */
  actor(atespace: string, name: string): ActorHandle
  template(atespace: string, name: string): TemplateHandle
  workerPool(name: string): WorkerPoolHandle
  atespace(name: string): AtespaceHandle
  node(name: string): NodeHandle
  /** Events as they come, or from the start of the window that the event stream keeps. Each once, in order per actor. */
  events(options: EventsOptions): AsyncIterable<CloudEvent>
  /** Makes the system hold this document: creates it, updates it where its kind allows, or finds it unchanged. */
  apply(document: ResourceDocument, options?: CallOptions): Promise<ApplyOutcome>
  /** Asks any control plane for the shards and version of the system. */
  system(options?: CallOptions): Promise<SystemInfo>
  /** Asks the projector how far the read model is. */
  readModel(options?: CallOptions): Promise<ReadModelInfo>
}

/**
 * A client of a system, on a bus that the caller connected and closes.
 * @example
 * const client = createClient({ bus, feed })
 * const actor = await client.actor('demo', 'my-counter-1').create({ template: 'counter' })
 */
export function createClient(options: ClientOptions): TorporClient {
  const calls = createCalls(options)
  const { ask } = calls
  return {
    command: calls.command,
    query: calls.query,
    list: calls.list,
    listAll: calls.listAll,
    actor: (atespace, name) => actorHandle(calls, atespace, name),
    template: (atespace, name) => templateHandle(calls, atespace, name),
    workerPool: (name) => workerPoolHandle(calls, name),
    atespace: (name) => atespaceHandle(calls, name),
    node: (name) => nodeHandle(calls, name),
    events: (eventsOptions) => followEvents(options.feed, eventsOptions),
    apply: (document, callOptions) => applyDocument(calls, document, callOptions),
    system: async (callOptions) => (await ask(GET_SYSTEM, {}, callOptions)) as SystemInfo,
    readModel: async (callOptions) => (await ask(GET_READ_MODEL, {}, callOptions)) as ReadModelInfo,
  }
}

/** Every control plane answers this verb, whatever the names before it. */
const ANY_NAMES = { atespace: WHOLE_SYSTEM, name: WHOLE_SYSTEM }

type CallsAndAsk = Calls & {
  ask(verb: string, request: unknown, options?: CallOptions): Promise<unknown>
}

function createCalls(options: ClientOptions): CallsAndAsk {
  const world = {
    clock: options.clock ?? systemClock,
    random: options.random ?? systemRandom,
  }
  const askOwner = ownerDoor(options.bus, world.clock)
  const headers = options.identity?.headers ?? {}
  const source = options.identity?.name ?? 'client'

  async function send(ref: EntityRef, verb: string, data: unknown, call: CallOptions = {}): Promise<unknown> {
    const refusal = checkRef(ref)
    if (refusal !== undefined) throw new TorporError(refusal)
    const id = call.id ?? uuidV7(world.clock, world.random)
    const time = new Date(world.clock.nowMs()).toISOString()
    const correlationid = call.correlationId ?? id
    const envelope = { specversion: '1.0', id, type: verb, source, time, correlationid, data }
    const bytes = jsonBytes(envelope)
    return callUntilAnswered(world, {
      send: (timeoutMs) => askOwner(ref, verb, bytes, { timeoutMs, headers }),
      id: displayName(ref),
      timeoutMs: call.timeoutMs,
      signal: call.signal,
    })
  }

  async function ask(verb: string, request: unknown, call: CallOptions = {}): Promise<unknown> {
    const subject = verb === GET_SYSTEM ? SUBJECTS.rpc(ANY_NAMES, verb) : SUBJECTS.query(verb)
    const bytes = jsonBytes(request)
    return callUntilAnswered(world, {
      send: (timeoutMs) => options.bus.request(subject, bytes, { timeoutMs, headers }),
      id: verb,
      timeoutMs: call.timeoutMs ?? LIMITS.rpcTimeoutMs,
      signal: call.signal,
    })
  }

  const list: Calls['list'] = async (verb, request = {}, call) =>
    (await ask(verb, request, call)) as ListReply<ListItem<typeof verb>>

  return {
    ask,
    command: async (ref, verb, data, call) =>
      (await send(ref, verb, data, call)) as CommandResult<typeof verb>,
    query: async (ref, verb, data = {}, call = {}) =>
      (await send(ref, verb, data, { timeoutMs: LIMITS.rpcTimeoutMs, ...call })) as QueryResult<typeof verb>,
    list,
    async *listAll(verb, request = {}, call = {}) {
      let pageToken = request.pageToken ?? ''
      do {
        const page = await list(verb, { ...request, pageToken }, call)
        yield* page.items
        pageToken = page.nextPageToken
      } while (pageToken !== '')
    },
  }
}

const jsonBytes = (value: unknown): Uint8Array => new TextEncoder().encode(JSON.stringify(value))
