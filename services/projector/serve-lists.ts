import type { Bus, EntityKind, EventLog, ListQueryName, ReadModel, Reply } from '@torpor/contracts'
import {
  GET_READ_MODEL,
  LIST_QUERIES,
  PROJECTOR_QUEUE,
  SUBJECTS,
  listRequestSchema,
  refusalOf,
  refuse,
} from '@torpor/contracts'

const KIND_OF_LIST: Readonly<Record<ListQueryName, EntityKind>> = {
  ListActors: 'actor',
  ListActorTemplates: 'actor-template',
  ListWorkerPools: 'worker-pool',
  ListAtespaces: 'atespace',
  ListNodes: 'node',
}

/** Answers `torpor.v1.query.List…` from the rows, and tells how far they are. */
export function serveLists(bus: Bus, log: EventLog, model: ReadModel): { close(): void } {
  const answers = new Map<string, (request: unknown) => Promise<Reply<unknown>>>(
    LIST_QUERIES.map((verb) => [SUBJECTS.query(verb), (request) => list(model, verb, request)]),
  )
  answers.set(SUBJECTS.query(GET_READ_MODEL), () => positions(log, model))
  const subscriptions = [...answers].map(([subject, answer]) =>
    bus.subscribe(
      subject,
      (message, respond) => {
        void answerOnce(answer, message.data).then((reply) => respond(encode(reply)))
      },
      { queue: PROJECTOR_QUEUE },
    ),
  )
  return { close: () => subscriptions.forEach((subscription) => subscription.unsubscribe()) }
}

async function answerOnce(
  answer: (request: unknown) => Promise<Reply<unknown>>,
  data: Uint8Array,
): Promise<Reply<unknown>> {
  try {
    return await answer(data.length === 0 ? {} : JSON.parse(new TextDecoder().decode(data)))
  } catch (cause) {
    if (cause instanceof SyntaxError)
      return { ok: false, error: refuse('COMMAND_MALFORMED', 'query', 'no JSON') }
    return { ok: false, error: refusalOf(cause) }
  }
}

async function list(model: ReadModel, verb: ListQueryName, request: unknown): Promise<Reply<unknown>> {
  const parsed = listRequestSchema.safeParse(request)
  if (!parsed.success) {
    return { ok: false, error: refuse('COMMAND_MALFORMED', verb, parsed.error.issues[0]?.message) }
  }
  return { ok: true, result: await model.list(KIND_OF_LIST[verb], parsed.data) }
}

async function positions(log: EventLog, model: ReadModel): Promise<Reply<unknown>> {
  const all = Array.from({ length: log.shards }, async (_, shard) => ({
    shard,
    position: (await model.position(shard)).frame,
    lastSequence: await log.shard(shard).lastSequence(),
  }))
  return { ok: true, result: { shards: await Promise.all(all) } }
}

const encode = (reply: Reply<unknown>): Uint8Array => new TextEncoder().encode(JSON.stringify(reply))
