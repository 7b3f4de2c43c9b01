import { appendFile, readdir, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'
import type { Snapshot } from '@torpor/contracts'
import type { AgentWorld, TestActor } from '../agent-world.ts'
import {
  anActor,
  checkpointOf,
  counts,
  namesOf,
  prepareOf,
  report,
  runActor,
  startAgentWorld,
  throughGate,
  typesOf,
} from '../agent-world.ts'

let world: AgentWorld
let actor: TestActor
let snapshot: Snapshot
let folder: string
beforeEach(async () => {
  world = await startAgentWorld()
  actor = anActor()
  await runActor(world, actor, actor.start(1))
  await throughGate(world, actor, 1)
  await world.command('Checkpoint', checkpointOf(actor, 1, 2))
  ;({ snapshot } = await report(world, actor, 'Checkpointed'))
  folder = join(world.dataDir, 'snapshots', actor.actorUid, '2')
  await world.agent.idle()
})
afterEach(() => world.close())

const uploadOf = () => ({ ...namesOf(actor), generation: 2, uri: snapshot.uri })
/** The row as the log has it after the upload, which tells the digest. */
const completed = async (): Promise<Snapshot> => {
  await world.command('Upload', uploadOf())
  const { manifestDigest } = await report(world, actor, 'Uploaded')
  return { ...snapshot, manifestDigest, storageState: 'SNAPSHOT_STORAGE_STATE_COMPLETED' }
}
const dropCopy = async (): Promise<void> => {
  await world.command('DropSnapshot', { ...namesOf(actor), generation: 2 })
  await report(world, actor, 'SnapshotDropped')
}

test('an upload puts every file and the manifest into the store, and again changes nothing', async () => {
  await world.command('Upload', uploadOf())
  const uploaded = await report(world, actor, 'Uploaded')
  expect(uploaded).toMatchObject({
    generation: 2,
    manifestDigest: expect.stringMatching(/^blake3:[0-9a-f]{64}$/),
    uri: snapshot.uri,
    bytes: snapshot.bytes,
  })
  expect(await Array.fromAsync(world.store.list(snapshot.uri))).toEqual(
    ['manifest.json', 'memory.json', 'rootfs.json', 'volumes.json'].map((name) => `${snapshot.uri}/${name}`),
  )
  await world.command('Upload', uploadOf())
  await report(world, actor, 'Uploaded', 2)
})

test('an upload into a store that does not answer fails with its reason, and works later', async () => {
  world.store.setDown(true)
  await world.command('Upload', uploadOf())
  expect(await report(world, actor, 'UploadFailed')).toMatchObject({ code: 'STORE_UNAVAILABLE' })
  world.store.setDown(false)
  await world.command('Upload', uploadOf())
  await report(world, actor, 'Uploaded')
})

test('an upload of a generation that is not here, is another, or is damaged fails', async () => {
  await world.command('Upload', { ...uploadOf(), generation: 9 })
  expect(await report(world, actor, 'UploadFailed', 1)).toMatchObject({ code: 'SNAPSHOT_UNKNOWN' })
  await world.command('Upload', { ...uploadOf(), manifestDigest: 'blake3:00' })
  expect(await report(world, actor, 'UploadFailed', 2)).toMatchObject({ code: 'SNAPSHOT_DAMAGED' })
  await writeFile(join(folder, 'memory.json'), '{}')
  await world.command('Upload', uploadOf())
  expect(await report(world, actor, 'UploadFailed', 3)).toMatchObject({ code: 'SNAPSHOT_DAMAGED' })
  expect(await world.store.exists(`${snapshot.uri}/manifest.json`)).toBe(false)
})

test('another manifest in the store is never overwritten', async () => {
  await world.store.putBytes(`${snapshot.uri}/manifest.json`, Buffer.from('another'))
  await world.command('Upload', uploadOf())
  expect(await report(world, actor, 'UploadFailed')).toMatchObject({ code: 'SNAPSHOT_DAMAGED' })
  expect(Buffer.from(await world.store.getBytes(`${snapshot.uri}/manifest.json`)).toString()).toBe('another')
})

test('with the copy on the node dropped, the actor wakes from the store', async () => {
  const row = await completed()
  await dropCopy()
  await expect(readdir(folder)).rejects.toThrow('ENOENT')
  await runActor(world, actor, actor.start(2, row))
  expect(await throughGate(world, actor, 2)).toMatchObject({ text: counts(2) })
  expect(await readdir(join(world.dataDir, 'staging'))).toEqual([])
})

test('without any copy nothing runs, and the reason is told', async () => {
  await dropCopy()
  await world.command('Go', actor.start(2, snapshot))
  expect(await report(world, actor, 'RestoreFailed')).toMatchObject({ code: 'SNAPSHOT_UNKNOWN', ran: false })
})

test('a damaged copy is told and replaced by the one in the store', async () => {
  const row = await completed()
  await appendFile(join(folder, 'memory.json'), ' ')
  await runActor(world, actor, actor.start(2, row))
  expect(await report(world, actor, 'SnapshotLost')).toMatchObject({
    generation: 2,
    code: 'SNAPSHOT_DAMAGED',
  })
  expect(await throughGate(world, actor, 2)).toMatchObject({ text: counts(2) })
})

test('a damaged copy without another one never starts', async () => {
  await writeFile(join(folder, 'rootfs.json'), '{"rootfsCount":9}')
  await world.command('Go', actor.start(2, snapshot))
  expect(await report(world, actor, 'RestoreFailed')).toMatchObject({ ran: false })
  expect(typesOf(world, actor).filter((type) => type === 'Restored')).toHaveLength(1)
  expect(await report(world, actor, 'SnapshotLost')).toMatchObject({ code: 'SNAPSHOT_DAMAGED' })
  await world.agent.idle()
  expect(await world.runtime.list()).toEqual([])
})

test('a damaged copy in the store never starts', async () => {
  const row = await completed()
  await dropCopy()
  await world.store.putBytes(`${snapshot.uri}/memory.json`, Buffer.from('{}'))
  await world.command('Go', actor.start(2, row))
  expect(await report(world, actor, 'RestoreFailed')).toMatchObject({ code: 'SNAPSHOT_DAMAGED', ran: false })
})

test('a failed restore is tried once more on a fresh place', async () => {
  world.runtime.faults.failRestores = 1
  await runActor(world, actor, actor.start(2, snapshot))
  expect(await throughGate(world, actor, 2)).toMatchObject({ text: counts(2) })
  expect(typesOf(world, actor)).not.toContain('RestoreFailed')
})

test('a restore that fails each time is told, and the generation stays', async () => {
  world.runtime.faults.failRestores = 2
  await world.command('Go', actor.start(2, snapshot))
  expect(await report(world, actor, 'RestoreFailed')).toMatchObject({ code: 'RESTORE_FAILED', ran: true })
  await runActor(world, actor, actor.start(3, snapshot))
  expect(await throughGate(world, actor, 3)).toMatchObject({ text: counts(2) })
})

test('many actors that begin with one golden generation fetch it once and count apart', async () => {
  const row = await completed()
  await dropCopy()
  const golden: Snapshot = { ...row, owner: 'SNAPSHOT_OWNER_TAG', locality: '', generation: 1 }
  const clones = [anActor('a'), anActor('b')]
  await Promise.all(clones.map((clone) => runActor(world, clone, clone.start(1, golden))))
  for (const clone of clones) expect(await throughGate(world, clone, 1)).toMatchObject({ text: counts(2) })
  expect(await readdir(join(world.dataDir, 'goldens'))).toHaveLength(1)
})

test('a golden generation that was taken on this node needs no store, and outlives its first copy', async () => {
  const row = await completed()
  world.store.setDown(true)
  const golden: Snapshot = { ...row, owner: 'SNAPSHOT_OWNER_TAG' }
  const clone = anActor('clone')
  await world.command('Prepare', prepareOf(clone.start(1, golden)))
  await world.agent.idle()
  await rm(folder, { recursive: true })
  await runActor(world, clone, clone.start(1, golden))
  expect(await throughGate(world, clone, 1)).toMatchObject({ text: counts(2) })
})

test('a collected generation is gone from node and store, and again is no error', async () => {
  await world.command('Upload', uploadOf())
  await report(world, actor, 'Uploaded')
  const collect = { ...namesOf(actor), generation: 2, uri: snapshot.uri }
  await world.command('CollectSnapshot', collect)
  await report(world, actor, 'SnapshotCollected')
  expect(await Array.fromAsync(world.store.list(snapshot.uri))).toEqual([])
  await expect(readdir(folder)).rejects.toThrow('ENOENT')
  await world.command('CollectSnapshot', collect)
  await report(world, actor, 'SnapshotCollected', 2)
})

test('a generation that is not on the node is dropped without complaint', async () => {
  await world.command('DropSnapshot', { ...namesOf(actor), generation: 7 })
  expect(await report(world, actor, 'SnapshotDropped')).toEqual({ generation: 7 })
})
