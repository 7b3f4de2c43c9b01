import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { connectNats } from '@torpor/adapter-nats'
import type { NatsAdapter } from '@torpor/adapter-nats'
import type { CloudEvent, Snapshot } from '@torpor/contracts'
import { systemClock, systemRandom, uuidV7 } from '@torpor/contracts'
import { createClient } from '@torpor/sdk'
import type { TorporClient } from '@torpor/sdk'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { startLocalStack } from '../supervisor/local-stack.ts'
import type { LocalStack } from '../supervisor/local-stack.ts'
import { findTool } from '../supervisor/tool-paths.ts'
import { awaitCondition } from './await-condition.ts'
import { demoDocuments } from './demo-documents.ts'
import { awaitGoldenSnapshot } from './golden-snapshot.ts'
import { natsCli } from './nats-cli.ts'
import type { NatsCli } from './nats-cli.ts'

const binary = findTool('nats')
const reason = binary === undefined ? '(left out: no NATS CLI here, the set-up makes it where Go is)' : ''

const COMES_TO_BE_MS_MAX = 60_000

/**
 * What a person types on the machine of a demo who has the NATS CLI and nothing else: every word by hand, subjects too, and
 * no user.
 */
describe.skipIf(binary === undefined)(`the NATS CLI ${reason}`, () => {
  let folder = ''
  let stack: LocalStack
  let bus: NatsAdapter
  let client: TorporClient
  let nats: NatsCli
  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), 'torpor-nats-cli-'))
    const services = ['control-plane', 'guard', 'node-agent'] as const
    stack = await startLocalStack({ dataFolder: folder, sandbox: 'simulated', services })
    nats = await natsCli(binary ?? '', stack.natsUrl)
    bus = await connectNats({ url: stack.natsUrl, name: 'a test' })
    client = createClient({ bus: bus.bus, feed: bus.feed })
    for (const document of demoDocuments('simulated:counter')) await client.apply(document)
    await awaitGoldenSnapshot(client, systemClock)
    await client.actor('demo', 'my-counter-1').create({ template: 'counter' })
  })
  afterAll(async () => {
    await nats?.close()
    await bus?.close()
    await stack?.stop()
    await rm(folder, { recursive: true, force: true })
  })

  const condition = <Value>(what: string, look: () => Promise<Value | undefined>): Promise<Value> =>
    awaitCondition(systemClock, what, COMES_TO_BE_MS_MAX, look)

  /** What a stream holds of a subject, line by line, to its end. */
  const read = async <Message>(subject: string): Promise<readonly Message[]> => {
    const printed = await nats.run('sub', '--all', '--terminate-at-end', '--raw', subject)
    const lines = printed.split('\n').filter((line) => line.startsWith('{'))
    return lines.map((line) => JSON.parse(line) as Message)
  }
  const types = (messages: readonly { readonly type: string }[]) => messages.map(({ type }) => type)

  test('wakes an actor by the durable door while another one watches the events', async () => {
    const watching = nats.watch('sub', '-s', stack.natsUrl, 'torpor.v1.evt.>')
    await watching.sees('Subscribing on torpor.v1.evt.>')
    const said = await nats.run('pub', '-J', 'torpor.v1.cmd.demo.my-counter-1.ResumeActor', '{}')
    expect(said).toMatch(/Stored in Stream: COMMANDS Sequence: 1/)
    await watching.sees('dev.torpor.actor.resumed.v1')
    await watching.end()
    expect(watching.printed()).toContain('Received on "torpor.v1.evt.demo.my-counter-1"')
    expect(watching.printed()).toContain('dev.torpor.actor.resume-started.v1')
  })

  test('sends a command as a CloudEvent, without waiting for its acknowledgement', async () => {
    const id = uuidV7(systemClock, systemRandom)
    const event = { specversion: '1.0', id, type: 'SuspendActor', data: { mode: 'async' } }
    await nats.run('pub', 'torpor.v1.cmd.demo.my-counter-1.SuspendActor', JSON.stringify(event))
    const events = await condition('its upload', async () => {
      const found = await read<CloudEvent>('torpor.v1.evt.demo.my-counter-1')
      return types(found).includes('dev.torpor.snapshot.completed.v1') ? found : undefined
    })
    const started = events.find(({ type }) => type === 'dev.torpor.actor.suspend-started.v1')
    expect(started?.causationid).toBe(id)
  })

  test('asks by the fast door, and prints the outcome and nothing else', async () => {
    const ask = async (subject: string) =>
      JSON.parse(await nats.run('req', '--raw', subject, '{}')) as unknown
    expect(await ask('torpor.v1.rpc.demo.my-counter-1.ResumeActor')).toMatchObject({
      ok: true,
      result: { actor: { state: 'ACTOR_STATE_RUNNING' } },
    })
    expect(await ask('torpor.v1.rpc.demo.nobody.ResumeActor')).toMatchObject({ ok: false })
  })

  test('says so where a word is none of a person: of the log, of the node, of no command', async () => {
    for (const subject of [
      'torpor.v1.log.0',
      'torpor.v1.node.node-1.Terminate',
      'torpor.v1.cmd.demo.my-counter-1.Frobnicate',
    ]) {
      await expect(nats.run('pub', subject, '{}'), subject).rejects.toThrow(/permissions violation/i)
    }
  })

  test('reads the story of an actor from the stream of events, and its last one by itself', async () => {
    await nats.run('req', 'torpor.v1.rpc.demo.my-counter-1.SuspendActor', '{"mode":"sync"}')
    const events = await read<CloudEvent>('torpor.v1.evt.demo.my-counter-1')
    expect(types(events).slice(0, 5)).toEqual([
      'dev.torpor.actor.created.v1',
      'dev.torpor.actor.resume-started.v1',
      'dev.torpor.actor.resumed.v1',
      'dev.torpor.actor.suspend-started.v1',
      'dev.torpor.actor.suspended.v1',
    ])
    expect(events.map(({ version }) => version)).toEqual(events.map((_, index) => index + 1))
    const last = await nats.run('stream', 'get', 'EVENTS', '--last-for', 'torpor.v1.evt.demo.my-counter-1')
    const lastEvent = JSON.parse(last.slice(last.indexOf('{'))) as CloudEvent
    expect(lastEvent.subject).toBe('actor/demo/my-counter-1')
    expect(lastEvent.version).toBeGreaterThanOrEqual(events.length)
  })

  test('reads each command to the node, and each PENDING that became COMPLETED', async () => {
    const { uid } = await client.actor('demo', 'my-counter-1').get()
    const commands = await read<Said>('torpor.v1.node.>')
    const asked = types(commands.filter(({ data }) => data.actorUid === uid))
    expect(asked).toEqual(expect.arrayContaining(['Prepare', 'Go', 'Checkpoint', 'Upload']))

    const reports = await read<Said>('torpor.v1.report.*.demo.my-counter-1')
    const uploaded = reports.filter(({ type }) => type === 'Uploaded')
    const events = await condition('the last completion among the events', async () => {
      const found = await read<Said>('torpor.v1.evt.demo.my-counter-1')
      return generationsThat(found, 'COMPLETED').includes(3) ? found : undefined
    })
    const pending = new Set(generationsThat(events, 'PENDING'))
    expect([...pending]).toEqual([2, 3])
    // The first is the golden snapshot, which was complete when the actor was born of it.
    expect(generationsThat(events, 'COMPLETED')).toEqual([1, ...pending])
    expect(uploaded.map(({ data }) => data.generation)).toEqual([...pending])
  })
})

/** As much of a message as is looked at. */
type Said = {
  readonly type: string
  readonly data: {
    readonly actorUid?: string
    readonly generation?: number
    readonly snapshot?: Pick<Snapshot, 'generation' | 'storageState'>
  }
}

/** The generations of which the events say so, in their order: as a snapshot's state, or by an event of its own. */
function generationsThat(events: readonly Said[], state: 'PENDING' | 'COMPLETED'): readonly number[] {
  return events.flatMap(({ type, data: { generation, snapshot } }) => {
    if (snapshot?.storageState === `SNAPSHOT_STORAGE_STATE_${state}`) return [snapshot.generation]
    const isCompletion = type === 'dev.torpor.snapshot.completed.v1' && state === 'COMPLETED'
    return isCompletion && generation !== undefined ? [generation] : []
  })
}
