import { describe, expect, test } from 'vitest'
import type { Actor } from '@torpor/contracts'
import { LIMITS, SUBJECTS, actorRef, refuse } from '@torpor/contracts'
import type { Command } from 'commander'
import { createProgram } from './cli.ts'
import { createContext } from './context.ts'
import type { World } from './world.ts'
import type { Answers } from './scripted-world.ts'
import { ACTOR, event, no, torpor, yes } from './scripted-world.ts'

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
