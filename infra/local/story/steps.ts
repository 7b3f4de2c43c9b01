import type { Actor, ActorTemplate, Snapshot } from '@torpor/contracts'
import { TorporError, fault, sleep } from '@torpor/contracts'
import { awaitCondition } from './await-condition.ts'
import { countOnce } from './count.ts'
import type { CounterAnswer } from './counter-client.ts'
import { DEMO_POOL, DEMO_TEMPLATE, demoDocuments } from './demo-documents.ts'
import { awaitGoldenSnapshot } from './golden-snapshot.ts'
import { writeLedger } from './ledger.ts'
import type { Stage } from './stage.ts'
import { measure } from './stage.ts'
import { ms, snapshotRow } from './tell.ts'

const STATE_MS_MAX = 120_000
const FIRST_CALLS = 5

/** Step 2: documents are applied; the template's golden snapshot is taken. */
export async function makeTemplate(stage: Stage, image: string): Promise<ActorTemplate> {
  const { client, tell, clock, signal } = stage
  tell.step(2, 'A template: the counter image, and the golden snapshot that its actors are born from')
  tell.line(`image ${image}`)
  for (const document of demoDocuments(image)) {
    tell.line(`${document.kind} ${document.metadata.name}: ${await client.apply(document)}`)
  }
  const template = await awaitGoldenSnapshot(client, clock, signal)
  const bytes = template.golden.snapshot?.bytes ?? 0
  tell.line(`golden snapshot taken: ${(bytes / 1e6).toFixed(1)} MB, pool ${DEMO_POOL} has its workers`)
  return template
}

/** Step 3: the actor is created at rest; the first request wakes it. */
export async function firstCalls(stage: Stage): Promise<Actor> {
  const { tell, host } = stage
  tell.step(3, `An actor: ${host.split('.').slice(0, 2).toReversed().join('/')}`)
  const { actor: created, isFound } = await createOrFind(stage)
  tell.line(`${created.state}: ${created.snapshots.map(snapshotRow).join(', ')}`)
  const first = await firstCall(stage, created, isFound)
  stage.measuredMs.set('first call', first.elapsedMs)
  tell.line(`${first.text}   (${ms(first.elapsedMs)}: it slept, and woke)`)
  for (let call = 2; call <= FIRST_CALLS; call += 1) {
    const answer = await countOnce(stage, created.uid)
    stage.measuredMs.set('call to a running actor', answer.elapsedMs)
    tell.line(`${answer.text}   (${ms(answer.elapsedMs)})`)
  }
  return created
}

type Found = { readonly actor: Actor; readonly isFound: boolean }

async function createOrFind({ actor, tell, clock, signal }: Stage): Promise<Found> {
  try {
    const created = await actor.create({ template: DEMO_TEMPLATE })
    tell.line('created')
    const there = await awaitCondition(clock, created.name, STATE_MS_MAX, () => actor.get(), signal)
    return { actor: there, isFound: false }
  } catch (cause) {
    if (!(cause instanceof TorporError) || cause.code !== 'ALREADY_EXISTS') throw cause
    const found = await actor.get()
    tell.line('is there from an earlier run; its counts go on')
    return { actor: found, isFound: true }
  }
}

/**
 * The first call of this run. An actor that ran when the machine or the demo was ended by force has lost what came after its
 * newest snapshot: that is said, and it goes on from there. One of this run has no such excuse.
 */
async function firstCall(stage: Stage, { uid }: Actor, isFound: boolean): Promise<CounterAnswer> {
  try {
    return await countOnce(stage, uid)
  } catch (cause) {
    const { state, crash } = await stage.actor.get()
    if (!isFound || state !== 'ACTOR_STATE_CRASHED') throw cause
    stage.tell.line(`the earlier run ended before it could be suspended (${crash?.message ?? ''})`)
    await stage.actor.revert()
    await writeLedger(stage.dataFolder, { actorUid: uid })
    stage.tell.line('it goes back to its newest snapshot, and its counts with it')
    return countOnce(stage, uid)
  }
}

/** Step 4: it sleeps: on the node at once, in the object store a little later; then once more, synchronously. */
export async function suspendTwice(stage: Stage): Promise<void> {
  const { actor, tell } = stage
  tell.step(4, 'It sleeps')
  await rest(stage)
  const asleep = await measure(stage, 'async suspend', () => actor.suspend({ mode: 'async' }))
  await stage.eventsShown(asleep)
  tell.line(`suspended (async): ${asleep.snapshots.map(snapshotRow).join(', ')}`)
  const completed = await awaitSnapshots(
    stage,
    'the upload',
    (rows) => rows.length === 1 && rows.every(isCompleted),
  )
  tell.line(`after the upload delay: ${completed.snapshots.map(snapshotRow).join(', ')}`)
  await actor.resume({ trigger: 'demo' })
  await rest(stage)
  const durable = await measure(stage, 'sync suspend', () => actor.suspend({ mode: 'sync' }))
  await stage.eventsShown(durable)
  tell.line(`suspended (sync): ${durable.snapshots.map(snapshotRow).join(', ')}`)
  if (durable.snapshots.length !== 1 || !durable.snapshots.every(isCompleted)) {
    throw fault('INTERNAL', durable.name, {
      detail: 'a synchronous suspend must leave one COMPLETED snapshot',
    })
  }
}

/** Step 5: it wakes where it stopped, from the node and from the object store. */
export async function wakeTwice(stage: Stage): Promise<void> {
  const { actor, tell } = stage
  tell.step(5, 'It wakes, and goes on where it stopped')
  const { uid } = await actor.get()
  await rest(stage)
  const fromNode = await countOnce(stage, uid)
  stage.measuredMs.set('wake from the node', fromNode.elapsedMs)
  tell.line(`${fromNode.text}   (${ms(fromNode.elapsedMs)}, from the node's disk)`)
  const asleep = await actor.suspend({ mode: 'sync' })
  await stage.eventsShown(asleep)
  await awaitSnapshots(stage, 'the detach delay', (rows) => rows.every(({ locality }) => locality === ''))
  tell.line('the copy on the node is dropped: only the object store has it now')
  const fromStore = await countOnce(stage, uid)
  stage.measuredMs.set('wake from the object store', fromStore.elapsedMs)
  tell.line(`${fromStore.text}   (${ms(fromStore.elapsedMs)}, from the object store)`)
}

/** What one step leaves to do in the background is not timed with the next. */
const REST_MS = 1_000
const rest = ({ clock }: Stage): Promise<void> => sleep(clock, REST_MS)

const isCompleted = ({ storageState }: Snapshot): boolean =>
  storageState === 'SNAPSHOT_STORAGE_STATE_COMPLETED'

const awaitSnapshots = (
  { actor, clock, signal }: Stage,
  what: string,
  hold: (rows: readonly Snapshot[]) => boolean,
): Promise<Actor> => {
  const look = async (): Promise<Actor | undefined> => {
    const found = await actor.get()
    return hold(found.snapshots) ? found : undefined
  }
  return awaitCondition(clock, what, STATE_MS_MAX, look, signal)
}
