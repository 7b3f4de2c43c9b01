import { mkdir, readFile, readdir, rename, rm, utimes, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { LIMITS, systemClock } from '@torpor/contracts'
import type { Clock, Inventory, Snapshot } from '@torpor/contracts'
import type { AgentWorld, TestActor } from '../agent-world.ts'
import {
  anActor,
  checkpointOf,
  counts,
  namesOf,
  report,
  runActor,
  startAgentWorld,
  throughGate,
  typesOf,
  until,
} from '../agent-world.ts'

/** Nothing is hashed in the background until a test says so. */
let waiting: (() => void)[]
const heldClock: Clock = {
  ...systemClock,
  after(delayMs, call) {
    if (delayMs !== LIMITS.sealDelayMs) return systemClock.after(delayMs, call)
    waiting.push(call)
    return () => undefined
  },
}
const letSealsBegin = (): void => waiting.forEach((call) => call())

let world: AgentWorld
let actor: TestActor
let snapshot: Snapshot
let folder: string
beforeEach(async () => {
  waiting = []
  world = await startAgentWorld({ clock: heldClock })
  actor = anActor()
  await runActor(world, actor, actor.start(1))
  await throughGate(world, actor, 1)
  await world.command('Checkpoint', checkpointOf(actor, 1, 2))
  ;({ snapshot } = await report(world, actor, 'Checkpointed'))
  folder = join(world.dataDir, 'snapshots', actor.actorUid, '2')
  await world.agent.idle()
})
afterEach(() => world.close())

const names = (): Promise<string[]> => readdir(folder)
const sealed = () => until('its manifest', async () => (await isSealed()) || undefined)
const isSealed = async (): Promise<boolean> => {
  const there = await names()
  return there.includes('manifest.json') && !there.includes('unsealed.json')
}
const copies = async (): Promise<Inventory['snapshots']> => {
  const reply = await world.command<Inventory>('Inventory', {})
  if (!reply.ok) throw new Error(reply.error.message)
  return reply.result.snapshots
}
const uploadOf = () => ({ ...namesOf(actor), generation: 2, uri: snapshot.uri })
/** The next agent finds what one that was killed left. */
const startAnewUnsealed = async (): Promise<void> => {
  const aside = join(world.dataDir, 'aside')
  await rename(folder, aside)
  await world.die()
  await rename(aside, folder)
  await world.restart()
}

test('what is reported is whole and marked, and gets its manifest later', async () => {
  expect(await names()).toContain('unsealed.json')
  expect(await copies()).toEqual([
    { actorUid: actor.actorUid, generation: 2, bytes: snapshot.bytes, uploading: false },
  ])
  letSealsBegin()
  await sealed()
  expect(await copies()).toMatchObject([{ manifestDigest: expect.stringMatching(/^blake3:/) }])
})

test('a wake does not wait for the manifest, which comes while the actor runs', async () => {
  await runActor(world, actor, actor.start(2, snapshot))
  expect(await throughGate(world, actor, 2)).toMatchObject({ text: counts(2) })
  expect(await isSealed()).toBe(false)
  letSealsBegin()
  await sealed()
})

test('an upload has it written first, and tells its digest', async () => {
  await world.command('Upload', uploadOf())
  const { manifestDigest } = await report(world, actor, 'Uploaded')
  expect(await isSealed()).toBe(true)
  const storageState = 'SNAPSHOT_STORAGE_STATE_COMPLETED' as const
  await runActor(world, actor, actor.start(2, { ...snapshot, manifestDigest, storageState }))
  expect(await throughGate(world, actor, 2)).toMatchObject({ text: counts(2) })
})

test('a delete meanwhile leaves nothing, and nothing is written afterwards', async () => {
  letSealsBegin()
  await world.command('CollectSnapshot', uploadOf())
  await report(world, actor, 'SnapshotCollected')
  await expect(names()).rejects.toThrow('ENOENT')
  expect(await copies()).toEqual([])
  await world.command('Upload', uploadOf())
  expect(await report(world, actor, 'UploadFailed')).toMatchObject({ code: 'SNAPSHOT_UNKNOWN' })
  await expect(names()).rejects.toThrow('ENOENT')
})

test('a file that changed before it was hashed is damage, for a wake and for an upload', async () => {
  await writeFile(join(folder, 'memory.json'), await readFile(join(folder, 'memory.json')))
  await world.command('Upload', uploadOf())
  expect(await report(world, actor, 'UploadFailed')).toMatchObject({ code: 'SNAPSHOT_DAMAGED' })
  await world.command('Go', actor.start(2, snapshot))
  expect(await report(world, actor, 'RestoreFailed')).toMatchObject({ ran: false })
  expect(await report(world, actor, 'SnapshotLost')).toMatchObject({ code: 'SNAPSHOT_DAMAGED' })
  expect(typesOf(world, actor).filter((type) => type === 'Restored')).toHaveLength(1)
})

test('a file that changed after it was hashed is damage', async () => {
  letSealsBegin()
  await sealed()
  await writeFile(join(folder, 'memory.json'), '{"memoryCount":7,"answers":7}')
  await world.command('Go', actor.start(2, snapshot))
  expect(await report(world, actor, 'RestoreFailed')).toMatchObject({ ran: false })
  expect(await report(world, actor, 'SnapshotLost')).toMatchObject({ code: 'SNAPSHOT_DAMAGED' })
})

test('an agent that ends hashes what waits', async () => {
  await world.die()
  expect(await isSealed()).toBe(true)
  await world.restart()
  await runActor(world, actor, actor.start(2, snapshot))
  expect(await throughGate(world, actor, 2)).toMatchObject({ text: counts(2) })
})

test('a new agent hashes what the one before had not, before it restores from it', async () => {
  await startAnewUnsealed()
  expect(await names()).toContain('unsealed.json')
  await runActor(world, actor, actor.start(2, snapshot))
  expect(await isSealed()).toBe(true)
  expect(await throughGate(world, actor, 2)).toMatchObject({ text: counts(2) })
})

test('a new agent finds what changed while none was there', async () => {
  await startAnewUnsealed()
  await utimes(join(folder, 'memory.json'), 0, 0)
  await world.command('Go', actor.start(2, snapshot))
  expect(await report(world, actor, 'RestoreFailed')).toMatchObject({ ran: false })
  expect(await report(world, actor, 'SnapshotLost')).toMatchObject({ code: 'SNAPSHOT_DAMAGED' })
})

test('after a start of the machine a copy without manifest counts for nothing, and one that is not whole never does', async () => {
  const mark = JSON.parse(await readFile(join(folder, 'unsealed.json'), 'utf8')) as object
  await startAnewUnsealed()
  expect(await copies()).toHaveLength(1)
  const part = join(world.dataDir, 'snapshots', actor.actorUid, '3')
  await mkdir(part)
  await writeFile(join(part, 'memory.json'), '{}')
  await rm(join(folder, 'unsealed.json'))
  await writeFile(join(folder, 'unsealed.json'), JSON.stringify({ ...mark, bootId: 'another' }))
  const aside = join(world.dataDir, 'aside')
  await rename(folder, aside)
  await world.die()
  await rename(aside, folder)
  await world.restart()
  expect(await copies()).toEqual([])
  await expect(names()).rejects.toThrow('ENOENT')
})
