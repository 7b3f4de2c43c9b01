import type { Actor, Bus, Clock, CloudEvent, EventFeed, Refusal, Reply } from '@torpor/contracts'
import { actorTemplateSpecSchema, cloudEventType, fault, systemRandom } from '@torpor/contracts'
import { runCli } from './cli.ts'
import type { World } from './world.ts'

/** For tests of the command line: one run of it against answers by verb, with everything that it wrote and sent. */

export const NOW_MS = 1_790_000_000_000
const spec = actorTemplateSpecSchema.parse({
  sandboxClasses: [{ name: 'gvisor' }],
  containers: [{ name: 'main', image: 'oci:counter:latest' }],
})
export const ACTOR: Actor = {
  uid: '01990000-0000-7000-8000-000000000000',
  atespace: 'demo',
  name: 'x',
  state: 'ACTOR_STATE_SUSPENDED',
  phase: '',
  version: 7,
  createTimeMs: NOW_MS - 300_000,
  updateTimeMs: NOW_MS - 2_000,
  template: { atespace: 'demo', name: 'counter', uid: 't' },
  spec,
  snapshots: [
    {
      generation: 3,
      owner: 'SNAPSHOT_OWNER_ACTOR',
      fidelity: 'SNAPSHOT_FIDELITY_MEMORY',
      actorTemplateUid: 't',
      locality: 'node-1',
      storageState: 'SNAPSHOT_STORAGE_STATE_PENDING',
      uri: 'actors/x/3',
      manifestDigest: 'blake3:00',
      bytes: 10_000_000,
      sandboxRuntime: { sandboxClass: 'gvisor', version: { attributes: [] } },
      createTimeMs: NOW_MS - 2_000,
      attempts: 0,
    },
  ],
  lastAssignedGeneration: 3,
  assignedNode: 'node-1',
  collect: [],
  timers: [],
  golden: false,
}

/** An event of {@link ACTOR}. */
export const event = (
  version: number,
  name: 'ActorResumed' | 'ActorSuspendStarted',
  data: unknown,
): CloudEvent => ({
  specversion: '1.0',
  id: `e${version}`,
  source: 'torpor',
  type: cloudEventType(name),
  subject: 'actor/demo/x',
  time: new Date(NOW_MS).toISOString(),
  actoruid: ACTOR.uid,
  version,
  epoch: 1,
  causationid: 'c',
  correlationid: 'c',
  actorprev: '',
  principal: 'p',
  principalproof: 'anonymous',
  data,
})

export type Answers = Readonly<Record<string, (data: unknown) => Reply<unknown>>>
export const yes = (result: unknown): Reply<unknown> => ({ ok: true, result })
export const no = (error: Refusal): Reply<unknown> => ({ ok: false, error })

/** Time in which every delay is over at the next turn of the event loop. It begins at {@link NOW_MS}. */
function hurriedClock(): Clock {
  let elapsedMs = 0
  return {
    nowMs: () => NOW_MS,
    monotonicMs: () => elapsedMs,
    after(delayMs, call) {
      const due = setImmediate(() => {
        elapsedMs += delayMs
        call()
      })
      return () => clearImmediate(due)
    },
  }
}

/** One run of the command line against answers by verb. */
export async function torpor(
  line: string,
  given: {
    answers?: Answers
    files?: Readonly<Record<string, string>>
    environment?: Record<string, string>
    events?: CloudEvent[]
    connectFails?: Error
  } = {},
) {
  const written = {
    out: '',
    err: '',
    servers: [] as string[],
    sent: [] as { subject: string; data: unknown }[],
  }
  const bus: Bus = {
    publish: () => {},
    subscribe: () => ({ unsubscribe: () => {} }),
    close: async () => {},
    async request(subject, bytes) {
      const body = JSON.parse(new TextDecoder().decode(bytes)) as { data?: unknown }
      written.sent.push({ subject, data: body.data ?? body })
      const answer = given.answers?.[subject.split('.').at(-1) ?? '']
      if (answer === undefined) throw fault('BUS_UNAVAILABLE', subject)
      return new TextEncoder().encode(JSON.stringify(answer(body.data ?? body)))
    },
  }
  const feed: EventFeed = {
    async *follow(subject) {
      for (const one of given.events ?? [])
        yield { sequence: one.version, subject, line: JSON.stringify(one) }
    },
  }
  const files = given.files ?? {}
  const world: World = {
    async connect(server) {
      written.servers.push(server)
      if (given.connectFails !== undefined) throw given.connectFails
      return { bus, feed, serverVersion: '2.12.1', close: async () => {} }
    },
    write: (text) => void (written.out += text),
    writeError: (text) => void (written.err += text),
    async readFile(path) {
      const text = files[path]
      if (text === undefined) throw new Error('ENOENT: no such file')
      return text
    },
    readStandardInput: async () => files['-'] ?? '',
    run: async () => 'runsc version test',
    environment: given.environment ?? {},
    folder: '/srv/project/deep',
    clock: hurriedClock(),
    random: systemRandom,
    signal: new AbortController().signal,
  }
  const code = await runCli(line.split(' '), world)
  return { code, ...written }
}
