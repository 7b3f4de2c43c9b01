import { spawn } from 'node:child_process'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { connectNats } from '@torpor/adapter-nats'
import type { NatsAdapter } from '@torpor/adapter-nats'
import { openReadModel } from '@torpor/adapter-postgres'
import { startTestPostgres } from '@torpor/adapter-postgres/test-postgres'
import type { TestPostgres } from '@torpor/adapter-postgres/test-postgres'
import type { Actor } from '@torpor/contracts'
import { systemClock } from '@torpor/contracts'
import { COUNTER_SPEC, condition, startTestSystem } from '../control-plane/testing/system.ts'
import type { TestSystem } from '../control-plane/testing/system.ts'
import { startProjector } from '@torpor/projector'
import type { Projector } from '@torpor/projector'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'

/** The program as people run it, against every part: real bus, real database, simulated sandboxes. */
describe('torpor on a whole system', () => {
  let system: TestSystem
  let postgres: TestPostgres
  let nats: NatsAdapter
  let projector: Projector
  let folder: string

  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), 'torpor-cli-test-'))
    postgres = await startTestPostgres()
    system = await startTestSystem()
    nats = await connectNats({ url: system.server.url, name: 'projector', shards: 'existing' })
    const model = openReadModel({ url: postgres.url, poolMax: 4 })
    const { bus, log } = nats
    projector = startProjector({ bus, log, model, clock: systemClock, note: () => {} })
    await projector.prepared
  })
  afterAll(async () => {
    await projector?.close()
    await nats?.close()
    await system?.close()
    await postgres?.stop()
    await rm(folder, { recursive: true, force: true })
  })

  function start(args: readonly string[]) {
    const child = spawn(process.execPath, [join(import.meta.dirname, 'torpor.mjs'), ...args], {
      env: { ...process.env, TORPOR_NATS_URL: system.server.url, TORPOR_SANDBOX: 'simulated' },
      cwd: folder,
      stdio: ['ignore', 'pipe', 'pipe'],
    })
    const said = { out: '', err: '' }
    child.stdout.on('data', (chunk: Buffer) => (said.out += chunk.toString()))
    child.stderr.on('data', (chunk: Buffer) => (said.err += chunk.toString()))
    const code = new Promise<number | null>((resolve) => child.once('close', resolve))
    return { said, code, interrupt: () => child.kill('SIGINT') }
  }

  async function torpor(line: string) {
    const { said, code } = start(line.split(' '))
    return { code: await code, ...said }
  }

  test('applies, creates, wakes, puts to sleep, tells the story, and deletes', async () => {
    const file = join(folder, 'counter.yaml')
    const api = 'torpor.dev/v1'
    const documents = [
      {
        apiVersion: api,
        kind: 'ActorTemplate',
        metadata: { name: 'counter', atespace: 'demo' },
        spec: COUNTER_SPEC,
      },
      { apiVersion: api, kind: 'Atespace', metadata: { name: 'demo' } },
      {
        apiVersion: api,
        kind: 'WorkerPool',
        metadata: { name: 'pool' },
        spec: { replicas: 1, sandboxClasses: [{ name: 'gvisor' }] },
      },
    ]
    await writeFile(file, documents.map((document) => JSON.stringify(document)).join('\n---\n'))
    const applied = await torpor(`apply -f ${file}`)
    expect(applied.err).toBe('')
    expect(applied.out).toMatch(
      /^Atespace demo created .*\nWorkerPool pool created .*\nActorTemplate demo\/counter created .*\n$/,
    )
    expect((await torpor(`apply -f ${file}`)).out.match(/unchanged/g)).toHaveLength(3)

    await condition('the golden snapshot', async () => {
      const { golden } = await system.client.template('demo', 'counter').get()
      return golden.phase === 'READY' ? true : undefined
    })
    expect((await torpor('create actor x -a demo --template counter')).out).toMatch(
      /^actor demo\/x created in \d+ ms \(ACTOR_STATE_SUSPENDED\)\n$/,
    )
    expect((await torpor('resume actor demo/x')).out).toMatch(
      /^actor demo\/x resumed in \d+ ms \(worker pool-0 on node-1\)\n$/,
    )
    expect((await torpor('logs actor demo/x')).code).toBe(0)
    expect((await torpor('suspend actor demo/x')).out).toMatch(
      /^actor demo\/x suspended in .* \(gen 2, (PENDING|COMPLETED)\)\n$/,
    )
    const { out } = await torpor('get actor x -a demo -o json')
    expect((JSON.parse(out) as Actor).state).toBe('ACTOR_STATE_SUSPENDED')

    const history = (await torpor('history actor demo/x')).out
    expect(history.match(/Actor\w+/g)?.slice(0, 5)).toEqual([
      'ActorCreated',
      'ActorResumeStarted',
      'ActorResumed',
      'ActorSuspendStarted',
      'ActorSuspended',
    ])
    expect((await torpor('explain actor demo/x')).out).toContain('torpor resume actor demo/x')
    expect((await torpor('delete actor demo/x')).out).toMatch(/^actor demo\/x deleted in /)
    const gone = await torpor('get actor demo/x')
    expect(gone.err).toMatch(/^error: demo\/x: was deleted \[ACTOR_GONE\]; .*\n$/)
    expect(gone.code).toBe(3)
  })

  test('lists from the read model, and the workers with what their node says', async () => {
    await torpor('create actor listed -a demo --template counter')
    await condition('the row', async () => {
      const { items } = await system.client.list('ListActors', { atespace: 'demo' })
      return items.some(({ name }) => name === 'listed') || undefined
    })
    expect((await torpor('get actors -A')).out).toMatch(
      /^ATESPACE +NAME[^]*\ndemo +listed +demo\/counter +ACTOR_STATE_SUSPENDED /,
    )
    expect((await torpor('get workers')).out).toMatch(/\npool +pool-0 +node-1 +FREE +0\//)
    expect((await torpor('get nodes')).out).toMatch(/\nnode-1 +NODE_STATE_JOINED/)
    expect((await torpor('get templates')).out).toMatch(/\ndemo +counter +gvisor +READY/)
  })

  test('watches until Ctrl-C, which is no failure', async () => {
    await torpor('create actor watched -a demo --template counter')
    const watching = start(['get', 'actor', 'watched', '-a', 'demo', '-w'])
    const events = start(['watch', 'demo/watched'])
    await condition(
      'the first row',
      async () => watching.said.out.includes('ACTOR_STATE_SUSPENDED') || undefined,
    )
    // A watcher that has not begun yet has nothing to show for this: so again until it has.
    await condition('the event', async () => {
      await system.client.actor('demo', 'watched').resume()
      if (events.said.out.includes('ActorResumed')) return true
      await system.client.actor('demo', 'watched').suspend()
      return undefined
    })
    await condition('the change', async () => watching.said.out.includes('ACTOR_STATE_RUNNING') || undefined)
    watching.interrupt()
    events.interrupt()
    expect([await watching.code, await events.code]).toEqual([0, 0])
  })

  test('the doctor finds everything well', async () => {
    const { out, code } = await torpor('doctor')
    expect(out.replaceAll(/:.*/g, '')).toBe('✓ bus\n✓ control plane\n✓ log\n✓ read model\n✓ nodes\n✓ runsc\n')
    expect(code).toBe(0)
  })

  test('a bus that is not there is one line, and code 6', async () => {
    const { err, code } = await torpor('get actors --server nats://127.0.0.1:1')
    expect(err).toMatch(/^error: nats:\/\/127\.0\.0\.1:1: the bus does not answer \[BUS_UNAVAILABLE\]; .*\n$/)
    expect(code).toBe(6)
  })
})
