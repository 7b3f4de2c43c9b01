import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, readFileSync, readdirSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { connect } from 'node:net'
import { networkInterfaces, tmpdir } from 'node:os'
import path from 'node:path'
import { connectNats } from '@torpor/adapter-nats'
import type { NatsAdapter } from '@torpor/adapter-nats'
import { LIMITS, STREAMS, SUBJECTS, actorRef, systemClock } from '@torpor/contracts'
import { createClient } from '@torpor/sdk'
import type { TorporClient } from '@torpor/sdk'
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest'
import { awaitCondition } from '../story/await-condition.ts'
import { demoDocuments } from '../story/demo-documents.ts'
import { awaitGoldenSnapshot } from '../story/golden-snapshot.ts'
import { choosePort } from './choose-port.ts'
import { startLocalStack } from './local-stack.ts'
import type { LocalStack } from './local-stack.ts'
import { natsPart } from './nats-part.ts'
import type { PartEvent } from './part.ts'
import { SERVICE_ENTRIES } from './part-environment.ts'
import { openSupervisor } from './supervisor.ts'
import { REPOSITORY, requireTool } from './tool-paths.ts'

const WAIT = { timeout: 20_000, interval: 50 }
const COMES_TO_BE_MS_MAX = 60_000
const forged = new TextEncoder().encode('forged')
const by = actorRef('demo', 'by-hand')

describe('the bus of a local stack', () => {
  let project = ''
  let folder = ''
  let stack: LocalStack
  let nats: NatsAdapter
  let client: TorporClient
  const told: PartEvent[] = []
  const refused: string[] = []

  beforeAll(async () => {
    project = mkdtempSync(path.join(tmpdir(), 'torpor-stack-'))
    folder = path.join(project, '.torpor', 'data')
    const onEvent = (event: PartEvent) => void told.push(event)
    stack = await startLocalStack({ dataFolder: folder, sandbox: 'simulated', onEvent })
    nats = await connectNats({
      url: stack.natsUrl,
      name: 'a person',
      onNotice: ({ kind, detail }) => kind === 'refused' && refused.push(detail),
    })
    client = createClient({ bus: nats.bus, feed: nats.feed })
    for (const document of demoDocuments('simulated:counter')) await client.apply(document)
    await awaitGoldenSnapshot(client, systemClock)
    await client.actor('demo', 'by-hand').create({ template: 'counter' })
  })
  afterAll(async () => {
    await nats?.close()
    await stack?.stop()
    rmSync(project, { recursive: true, force: true })
  })

  test('takes a command of a nameless client by the durable door, and shows it the events', async () => {
    await nats.bus.request(SUBJECTS.command(by, 'ResumeActor'), new TextEncoder().encode('{}'), {
      timeoutMs: LIMITS.streamRequestTimeoutMs,
    })
    const { signal } = new AbortController()
    for await (const { line } of nats.feed.follow(SUBJECTS.event(by), { from: 'start', signal })) {
      if ((JSON.parse(line) as { type: string }).type === 'dev.torpor.actor.resumed.v1') break
    }
    expect((await client.actor('demo', 'by-hand').get()).state).toBe('ACTOR_STATE_RUNNING')
  })

  test.each([
    SUBJECTS.log(0),
    SUBJECTS.nodeCommand('node-1', 'Terminate'),
    SUBJECTS.report('node-1', by),
    SUBJECTS.event(by),
    `$JS.API.STREAM.DELETE.${STREAMS.log(0)}`,
    `$JS.API.STREAM.DELETE.${STREAMS.events}`,
  ])('takes no %s of it', async (subject) => {
    nats.bus.publish(subject, forged)
    await vi.waitFor(() => expect(refused.join('\n')).toContain(`"${subject}"`), WAIT)
  })

  test('is asked by the router, and read by the projector', async () => {
    const host = 'by-hand.demo.actors.localhost'
    const answer = await fetch(stack.routerUrl, { headers: { 'torpor-target-actor': 'demo/by-hand', host } })
    expect(answer.status, await answer.text()).toBe(200)
    await awaitCondition(systemClock, 'the row', COMES_TO_BE_MS_MAX, async () => {
      for await (const { name } of client.listAll('ListActors')) if (name === 'by-hand') return true
      return undefined
    })
  })

  test('is found by a torpor that is started beside it', async () => {
    const torpor = ['services/cli/torpor.mjs', 'get', 'actors', '-A']
    const { code, said } = await run(torpor, {}, project)
    expect({ code, said }).toMatchObject({ code: 0, said: expect.stringMatching(/demo +by-hand/) })
  })

  test('has refused nothing to a part, what it refused to nameless clients is in its log', async () => {
    const log = stack.status().find(({ name }) => name === 'nats-server')?.log ?? ''
    const violations = await vi.waitFor(() => {
      const lines = readFileSync(log, 'utf8').split('\n')
      const found = lines.filter((line) => line.includes('Violation'))
      expect(found.length).toBeGreaterThanOrEqual(refused.length)
      return found
    }, WAIT)
    expect(violations.filter((line) => !line.includes('anyone'))).toEqual([])
  })

  test('keeps passwords in files that only their owner reads, and nowhere else', () => {
    const users = path.join(folder, 'nats', 'users')
    const files = readdirSync(users).map((name) => path.join(users, name))
    expect(files.map((file) => path.basename(file))).toEqual([
      'anyone.password',
      'control-plane.password',
      'node-node-1.password',
      'projector.password',
      'router.password',
    ])
    const config = path.join(folder, 'nats', 'nats.conf')
    for (const file of [...files, config]) expect(statSync(file).mode & 0o777, file).toBe(0o600)
    const passwords = files.map((file) => readFileSync(file, 'utf8').trim())
    expect(new Set(passwords).size).toBe(files.length)
    const holds = (text: string) => passwords.some((password) => text.includes(password))
    const holding = filesBelow(folder).filter((file) => holds(readFileSync(file, 'latin1')))
    expect(holding.toSorted()).toEqual([config, ...files])
    expect(holds(JSON.stringify(told))).toBe(false)
    expect(stack.status().filter(({ pid }) => holds(commandLine(pid)))).toEqual([])
  })

  test('is on the loopback and nowhere else', async () => {
    const port = Number(new URL(stack.natsUrl).port)
    expect(await answers('127.0.0.1', port)).toBe(true)
    const elsewhere = Object.values(networkInterfaces())
      .flatMap((addresses) => addresses ?? [])
      .filter(({ internal, family }) => !internal && family === 'IPv4')
    for (const { address } of elsewhere) expect(await answers(address, port), address).toBe(false)
  })

  test.each(['control-plane', 'projector', 'node-agent', 'router'] as const)(
    'ends a %s with a wrong password in one line',
    async (part) => {
      const passwordFile = path.join(folder, `wrong-${part}`)
      writeFileSync(passwordFile, 'not this one')
      const { code, said } = await run([SERVICE_ENTRIES[part]], {
        TORPOR_NATS_URL: stack.natsUrl,
        TORPOR_NATS_USER: part === 'node-agent' ? 'node-node-1' : part,
        TORPOR_NATS_PASSWORD_FILE: passwordFile,
        TORPOR_NAME: 'node-1',
        TORPOR_DATA_DIR: path.join(folder, `wrong-${part}-data`),
        TORPOR_SANDBOX: 'simulated',
      })
      expect(code).toBe(1)
      expect(said.trim().split('\n')).toEqual([expect.stringMatching(`^error: ${part}: .*UNAUTHENTICATED`)])
    },
  )

  test('ends a part whose password is not there in one line', async () => {
    const { code, said } = await run([SERVICE_ENTRIES.router], {
      TORPOR_NATS_URL: stack.natsUrl,
      TORPOR_NATS_USER: 'router',
      TORPOR_NATS_PASSWORD_FILE: path.join(folder, 'none'),
    })
    expect(code).toBe(1)
    expect(said.trim().split('\n')).toEqual([expect.stringMatching('^error: router: .*CONFIG_INVALID')])
  })
})

test('a data folder from before there were users goes on, with the shards that it has', async () => {
  const folder = mkdtempSync(path.join(tmpdir(), 'torpor-stack-'))
  const supervisor = await openSupervisor({ dataFolder: folder })
  const binary = requireTool('nats-server')
  const { port } = await choosePort('nats', 14_322)
  const url = await supervisor.startPart(natsPart({ binary, folder: path.join(folder, 'nats'), port }))
  const before = await connectNats({ url, name: 'before', shards: 6 })
  await before.close()
  await supervisor.stop()

  const stack = await startLocalStack({
    dataFolder: folder,
    sandbox: 'simulated',
    services: ['control-plane'],
    controlPlanes: 1,
  })
  const nats = await connectNats({ url: stack.natsUrl, name: 'a person' })
  try {
    const { shards } = await createClient({ bus: nats.bus, feed: nats.feed }).system()
    expect(shards).toBe(6)
  } finally {
    await nats.close()
    await stack.stop()
    rmSync(folder, { recursive: true, force: true })
  }
})

/** The database's own files are left out: nobody gives it a password of the bus. */
function filesBelow(folder: string): readonly string[] {
  return readdirSync(folder, { withFileTypes: true, recursive: true })
    .filter((entry) => entry.isFile())
    .map((entry) => path.join(entry.parentPath, entry.name))
    .filter((file) => !file.includes(`${path.sep}postgres${path.sep}`))
}

function commandLine(pid: number | undefined): string {
  try {
    return readFileSync(`/proc/${pid}/cmdline`, 'utf8')
  } catch {
    return ''
  }
}

async function answers(host: string, port: number): Promise<boolean> {
  const socket = connect({ host, port, timeout: 2_000 })
  const outcome = await Promise.race([
    once(socket, 'connect').then(
      () => true,
      () => false,
    ),
    once(socket, 'timeout').then(() => false),
  ])
  socket.destroy()
  return outcome
}

/** Runs a program of the repository to its end; what it said. */
async function run(
  [entry = '', ...words]: readonly string[],
  settings: Readonly<Record<string, string>>,
  cwd = REPOSITORY,
) {
  const child = spawn(process.execPath, [path.join(REPOSITORY, entry), ...words], {
    env: { PATH: process.env['PATH'], ...settings },
    cwd,
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  let said = ''
  for (const stream of [child.stdout, child.stderr]) {
    stream.setEncoding('utf8').on('data', (text: string) => void (said += text))
  }
  const [code] = (await once(child, 'close')) as [number | null]
  return { code, said }
}
