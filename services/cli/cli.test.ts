import { describe, expect, test } from 'vitest'
import type { Command } from 'commander'
import type { Actor, Bus, CloudEvent, EventFeed, Refusal, Reply } from '@torpor/contracts'
import {
  LIMITS,
  SUBJECTS,
  actorRef,
  actorTemplateSpecSchema,
  atespaceRef,
  cloudEventType,
  fault,
  refuse,
  systemClock,
  systemRandom,
} from '@torpor/contracts'
import { createProgram, runCli } from './cli.ts'
import { createContext } from './context.ts'
import type { World } from './world.ts'

const NOW_MS = 1_790_000_000_000
const spec = actorTemplateSpecSchema.parse({
  sandboxClasses: [{ name: 'gvisor' }],
  containers: [{ name: 'main', image: 'oci:counter:latest' }],
})
const ACTOR: Actor = {
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

const event = (version: number, name: 'ActorResumed' | 'ActorSuspendStarted', data: unknown): CloudEvent => ({
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

type Answers = Readonly<Record<string, (data: unknown) => Reply<unknown>>>
const yes = (result: unknown): Reply<unknown> => ({ ok: true, result })
const no = (error: Refusal): Reply<unknown> => ({ ok: false, error })

/** One run of the command line against answers by verb. */
async function torpor(
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
    clock: { ...systemClock, nowMs: () => NOW_MS, after: (_, call) => (queueMicrotask(call), () => {}) },
    random: systemRandom,
    signal: new AbortController().signal,
  }
  const code = await runCli(line.split(' '), world)
  return { code, ...written }
}

describe('commands', () => {
  test('say what happened, how long it took, and what matters of the result', async () => {
    const { out, code } = await torpor(
      'suspend actor x -a demo --mode sync --drain force --drain-timeout 5s',
      {
        answers: { SuspendActor: () => yes({ actor: ACTOR }) },
      },
    )
    expect(out).toMatch(/^actor demo\/x suspended in \d+ ms \(gen 3, PENDING\)\n$/)
    expect(code).toBe(0)
  })

  test('send the options that were given and no others', async () => {
    const answers: Answers = { SuspendActor: () => yes({ actor: ACTOR }) }
    const { sent } = await torpor('suspend actor demo/x --drain refuse', { answers })
    expect(sent).toEqual([
      { subject: SUBJECTS.rpc(actorRef('demo', 'x'), 'SuspendActor'), data: { drain: 'refuse' } },
    ])
  })

  test('take the atespace from ATESPACE/NAME, -a, or TORPOR_ATESPACE, in this order', async () => {
    const answers: Answers = { ResumeActor: () => yes({ actor: ACTOR }) }
    const environment = { TORPOR_ATESPACE: 'three' }
    const subjectOf = async (line: string) => (await torpor(line, { answers, environment })).sent[0]?.subject
    expect(await subjectOf('resume actor one/x -a two')).toBe(
      SUBJECTS.rpc(actorRef('one', 'x'), 'ResumeActor'),
    )
    expect(await subjectOf('resume actor x -a two')).toBe(SUBJECTS.rpc(actorRef('two', 'x'), 'ResumeActor'))
    expect(await subjectOf('resume actor x')).toBe(SUBJECTS.rpc(actorRef('three', 'x'), 'ResumeActor'))
  })

  test('print the entity itself with -o json', async () => {
    const { out } = await torpor('create actor x -a demo --template counter -o json', {
      answers: { CreateActor: () => yes({ actor: ACTOR }) },
    })
    expect(JSON.parse(out)).toEqual(ACTOR)
  })
})

describe('errors', () => {
  test('are one line with id, problem, code and remedy, and give the exit code of the registry', async () => {
    const { err, code } = await torpor('resume actor x -a demo', {
      answers: { ResumeActor: () => no(refuse('ACTOR_UNKNOWN', 'demo/x')) },
    })
    expect(err).toBe(
      'error: demo/x: no such actor [ACTOR_UNKNOWN]; create it: torpor create actor NAME --template TEMPLATE\n',
    )
    expect(code).toBe(3)
  })

  test('of a bus that does not answer come after the last attempt', async () => {
    const { err, code, sent } = await torpor('resume actor x -a demo')
    expect(err).toMatch(/^error: .*\[BUS_UNAVAILABLE\]; .*\n$/)
    expect(code).toBe(6)
    expect(sent).toHaveLength(LIMITS.rpcAttemptsMax)
  })

  test('of a command line are usage errors with code 2', async () => {
    expect((await torpor('resume actor')).code).toBe(2)
    expect((await torpor('suspend actor x -a demo --mode later')).code).toBe(2)
    const noSpace = await torpor('resume actor x')
    expect(noSpace.err).toContain('give -a ATESPACE')
    expect(noSpace.code).toBe(2)
  })
})

describe('get', () => {
  test('shows actors in the columns that people know', async () => {
    const { out } = await torpor('get actors -A', {
      answers: { ListActors: () => yes({ items: [ACTOR], nextPageToken: '' }) },
    })
    expect(out).toBe(
      [
        'ATESPACE  NAME  TEMPLATE      STATE                  WORKER  NODE    VERSION  AGE',
        'demo      x     demo/counter  ACTOR_STATE_SUSPENDED  -       node-1  7        5m',
        '',
      ].join('\n'),
    )
  })

  test('reads every page of a list and prints it under items', async () => {
    const { out } = await torpor('get actors -a demo -o json', {
      answers: {
        ListActors: (data) =>
          (data as { pageToken: string }).pageToken === ''
            ? yes({ items: [ACTOR], nextPageToken: 'next' })
            : yes({ items: [{ ...ACTOR, name: 'y' }], nextPageToken: '' }),
      },
    })
    expect((JSON.parse(out) as { items: Actor[] }).items.map(({ name }) => name)).toEqual(['x', 'y'])
  })

  test('prints a single one bare', async () => {
    const { out } = await torpor('get actor x -a demo -o json', {
      answers: { GetActor: () => yes({ actor: ACTOR }) },
    })
    expect(JSON.parse(out)).toEqual(ACTOR)
  })

  test('with -w goes on with a row for each change', async () => {
    const { out } = await torpor('get actors -a demo -w', {
      events: [event(8, 'ActorResumed', {})],
      answers: {
        ListActors: () => yes({ items: [ACTOR], nextPageToken: '' }),
        GetActor: () => yes({ actor: { ...ACTOR, state: 'ACTOR_STATE_RUNNING', version: 8 } }),
      },
    })
    expect(out.split('\n').map((line) => line.split(/ +/)[3])).toEqual([
      'STATE',
      'ACTOR_STATE_SUSPENDED',
      'ACTOR_STATE_RUNNING',
      undefined,
    ])
  })
})

describe('apply', () => {
  const template = [
    'apiVersion: torpor.dev/v1',
    'kind: ActorTemplate',
    'metadata: { name: counter, atespace: demo }',
    'spec:',
    '  sandboxClasses: [{ name: gvisor }]',
    '  containers:',
    '    - name: main',
    '      image: oci:counter:latest',
  ]
  const space = ['apiVersion: torpor.dev/v1', 'kind: Atespace', 'metadata: { name: demo }']

  test('creates several documents, what others need first', async () => {
    const { out, sent } = await torpor('apply -f all.yaml', {
      files: { 'all.yaml': [...template, '---', ...space].join('\n') },
      answers: {
        CreateAtespace: () => yes({ atespace: {} }),
        CreateActorTemplate: () => yes({ template: {} }),
      },
    })
    expect(out).toMatch(/^Atespace demo created in \d+ ms\nActorTemplate demo\/counter created in \d+ ms\n$/)
    expect(sent[0]?.subject).toBe(SUBJECTS.rpc(atespaceRef('demo'), 'CreateAtespace'))
    expect(sent[1]?.data).toMatchObject({ spec: { sandboxClasses: [{ name: 'gvisor' }] } })
  })

  test.each([
    [
      'an unknown field',
      [...template, '      imagePull: now'],
      'f.yaml:9: spec.containers.0.imagePull',
      'FIELD_UNKNOWN',
    ],
    ['an unknown kind', space.with(1, 'kind: Sandbox'), 'f.yaml:2: kind', 'DOCUMENT_INVALID'],
    [
      'a value of the wrong kind',
      template.with(7, '      image: 7'),
      'f.yaml:8: spec.containers.0.image',
      'DOCUMENT_INVALID',
    ],
    ['a missing field', template.slice(0, 7), 'f.yaml:7: spec.containers.0.image', 'DOCUMENT_INVALID'],
    [
      'a mistake in the second document',
      [...space, '---', ...template, '      x: 1'],
      'f.yaml:13: spec',
      'FIELD_UNKNOWN',
    ],
    ['text that is no YAML', ['kind: [', 'x'], 'f.yaml:', 'DOCUMENT_INVALID'],
  ])('refuses %s with its line, and sends nothing', async (_, lines, place, code) => {
    const {
      err,
      sent,
      code: exit,
    } = await torpor('apply -f f.yaml', { files: { 'f.yaml': lines.join('\n') } })
    expect(err).toContain(`error: ${place}`)
    expect(err).toContain(`[${code}]`)
    expect(exit).toBe(2)
    expect(sent).toEqual([])
  })

  test('reads standard input, JSON too, and fills in the atespace of -a', async () => {
    const text = JSON.stringify({
      apiVersion: 'torpor.dev/v1',
      kind: 'ActorTemplate',
      metadata: { name: 'counter' },
      spec: { sandboxClasses: [{ name: 'gvisor' }], containers: [{ name: 'main', image: 'i' }] },
    })
    const { out } = await torpor('apply -f - -a demo', {
      files: { '-': text },
      answers: { CreateActorTemplate: () => yes({ template: {} }) },
    })
    expect(out).toContain('ActorTemplate demo/counter created')
  })

  test('says which file cannot be read', async () => {
    const { err, code } = await torpor('apply -f nowhere.yaml')
    expect(err).toContain('error: nowhere.yaml: cannot be read (ENOENT: no such file) [FILE_UNREADABLE]')
    expect(code).toBe(2)
  })
})

describe('the story of an actor', () => {
  test('history prints one line for each event', async () => {
    const { out } = await torpor('history actor x -a demo', {
      events: [
        event(7, 'ActorResumed', { epoch: 1, sequence: 6, phasesMs: { restore: 12.34 } }),
        event(8, 'ActorSuspendStarted', { trigger: 'caller', generation: 3, mode: 'async', drain: 'drain' }),
      ],
    })
    const lines = out.trimEnd().split('\n')
    expect(lines[0]).toMatch(/^[\d:.]{12} {2}demo\/x {2}v7 {2}ActorResumed {2}restore=12\.3ms$/)
    expect(lines[1]).toMatch(
      /v8 {2}ActorSuspendStarted {2}trigger=caller generation=3 mode=async drain=drain$/,
    )
  })

  test('watch -o json prints the event as it is', async () => {
    const resumed = event(7, 'ActorResumed', {})
    const { out } = await torpor('watch -o json', { events: [resumed] })
    expect(JSON.parse(out)).toEqual(resumed)
  })

  test('explain tells state, what is allowed, snapshots, events and what to do', async () => {
    const { out } = await torpor('explain actor x -a demo', {
      events: [event(7, 'ActorResumed', {})],
      answers: {
        GetActor: () =>
          yes({
            actor: {
              ...ACTOR,
              state: 'ACTOR_STATE_CRASHED',
              crash: { code: 'EXITED', message: 'exit 1', timeMs: NOW_MS },
            },
          }),
      },
    })
    for (const words of [
      'is ACTOR_STATE_CRASHED:',
      'EXITED: exit 1',
      /resume +refused/,
      /revert +allowed/,
      '9.5 MiB',
      'ActorResumed',
      'torpor revert actor demo/x --then-resume',
    ]) {
      expect(out).toMatch(words)
    }
  })
})

describe('doctor', () => {
  const well: Answers = {
    GetSystem: () => yes({ shards: 2, version: '0.1.0', controlPlane: 'cp-1' }),
    SuspendActor: () => no(refuse('ACTOR_UNKNOWN', 'x')),
    GetReadModel: () => yes({ shards: [{ shard: 0, position: 5, lastSequence: 5 }] }),
    ListNodes: () => yes({ items: [{ name: 'node-1', state: 'NODE_STATE_JOINED' }], nextPageToken: '' }),
  }

  test('finds everything well', async () => {
    const { out, code } = await torpor('doctor', { answers: well })
    expect(
      out
        .split('\n')
        .map((line) => line.slice(0, 1))
        .join(''),
    ).toBe('✓✓✓✓✓✓')
    expect(code).toBe(0)
  })

  test.each<[string, Answers]>([
    ['log', { SuspendActor: () => no(refuse('LOG_UNAVAILABLE', 'shard 1')) }],
    ['read model', { GetReadModel: () => yes({ shards: [{ shard: 0, position: 0, lastSequence: 9_999 }] }) }],
    ['nodes', { ListNodes: () => yes({ items: [], nextPageToken: '' }) }],
    [
      'nodes',
      { ListNodes: () => yes({ items: [{ name: 'n', state: 'NODE_STATE_LOST' }], nextPageToken: '' }) },
    ],
  ])('names the %s when it is ill, with a remedy and exit code 7', async (check, ill) => {
    const { out, code } = await torpor('doctor', { answers: { ...well, ...ill } })
    expect(out).toMatch(new RegExp(`^✗ ${check}: .*\\n {4}\\S`, 'm'))
    expect(code).toBe(7)
  })

  test('says that the bus is too old', async () => {
    const { out, code } = await torpor('doctor', { connectFails: fault('BUS_TOO_OLD', 'nats://old:4222') })
    expect(out).toContain('✗ bus: nats://old:4222: the bus is older than 2.12')
    expect(code).toBe(7)
  })
})

describe('the server', () => {
  const file = '/srv/project/.torpor/data/run/addresses.json'
  const files = { [file]: JSON.stringify({ nats: 'nats://local:1', router: 'http://local:2' }) }
  const answers: Answers = { ResumeActor: () => yes({ actor: ACTOR }) }
  const environment = { TORPOR_NATS_URL: 'nats://environment:1' }

  test('is the one of --server, TORPOR_NATS_URL, the local stack above this folder, or the default', async () => {
    const line = 'resume actor demo/x'
    expect((await torpor(`${line} --server nats://flag:1`, { answers, environment, files })).servers).toEqual(
      ['nats://flag:1'],
    )
    expect((await torpor(line, { answers, environment, files })).servers).toEqual(['nats://environment:1'])
    expect((await torpor(line, { answers, files })).servers).toEqual(['nats://local:1'])
    expect((await torpor(line, { answers })).servers).toEqual(['nats://127.0.0.1:4222'])
  })
})

describe('help', () => {
  test('of every verb shows examples', async () => {
    const { out } = await torpor('--help')
    expect(out).toContain('Examples:')
    const world = {} as World
    const leaves = (command: Command): Command[] =>
      command.commands.length === 0 ? [command] : command.commands.flatMap((child) => leaves(child))
    for (const leaf of leaves(createProgram(createContext(world)))) {
      const path: string[] = []
      for (let at: Command | null = leaf; at?.parent; at = at.parent) path.unshift(at.name())
      const help = await torpor(`${path.join(' ')} --help`)
      expect(help.out, path.join(' ')).toContain(`$ torpor ${path.join(' ')}`)
      expect(help.code).toBe(0)
    }
  })
})
