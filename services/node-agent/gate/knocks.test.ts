import { afterEach, beforeEach, expect, test } from 'vitest'
import type { Assignment } from '@torpor/contracts'
import { formatAssignment } from '@torpor/contracts'
import type { Gate } from './gate.ts'
import type { SandboxServer } from './gate-world.ts'
import { anActor, anAssignment, ask, startSandboxServer, startTestGate } from './gate-world.ts'

const UID = anAssignment().actorUid
const NOW = { drain: 'force', drainMs: 0 } as const

let gate: Gate
let sandbox: SandboxServer

beforeEach(async () => {
  gate = await startTestGate({ gateKnocksMax: 2 })
  sandbox = await startSandboxServer((_, answer) => answer.end('hello'))
})
afterEach(async () => {
  await gate.stop()
  await sandbox.stop()
})

/** Knocks, and waits until the gate has heard the knock: it answers a request that was sent after it. */
async function knock(assignment: Assignment = anAssignment()): Promise<{ readonly status: Promise<number> }> {
  const headers = { 'torpor-assignment': formatAssignment(assignment), 'torpor-knock': '1' }
  const status = ask(gate.address, '/', { headers }).then((answer) => answer.status)
  await ask(gate.address, '/', { assignment: { ...assignment, actorUid: 'nobody' } })
  return { status }
}

test('a knock is answered when the door of its assignment opens, and reaches nobody', async () => {
  const first = await knock()
  const second = await knock()
  gate.open(anActor(sandbox.port))
  expect(await first.status).toBe(204)
  expect(await second.status).toBe(204)
  expect(await (await knock()).status).toBe(204)
  expect(sandbox.accepted()).toBe(0)
  expect((await ask(gate.address, '/')).body).toBe('hello')
})

test('another execution opens: who knocked for this one is turned away', async () => {
  const { status } = await knock(anAssignment(1))
  gate.open(anActor(sandbox.port, { assignment: anAssignment(2) }))
  expect(await status).toBe(421)
  expect(await (await knock(anAssignment(1))).status).toBe(421)
})

test('a start that is over turns away who knocked', async () => {
  const { status } = await knock()
  gate.remove(UID)
  expect(await status).toBe(421)
})

test('a door that is shut turns away its own knocks, and lets those for the next execution wait', async () => {
  gate.open(anActor(sandbox.port))
  await gate.close(UID, NOW)
  expect(await (await knock()).status).toBe(421)
  const next = await knock(anAssignment(2))
  gate.open(anActor(sandbox.port, { assignment: anAssignment(2) }))
  expect(await next.status).toBe(204)
})

test('one more than may wait is turned away at once; one that went leaves its place', async () => {
  const waiting = [await knock(), await knock(anAssignment(2))]
  expect(await (await knock(anAssignment(3))).status).toBe(421)
  gate.remove(UID)
  expect(await Promise.all(waiting.map(({ status }) => status))).toEqual([421, 421])
  const { status } = await knock()
  gate.open(anActor(sandbox.port))
  expect(await status).toBe(204)
})

test('nobody waits for longer than the gate lets wait, nor while it is held still', async () => {
  const impatient = await startTestGate({ gateKnockMs: 50 })
  const headers = { 'torpor-knock': '1' }
  expect((await ask(impatient.address, '/', { headers })).status).toBe(421)
  impatient.open(anActor(sandbox.port))
  impatient.freeze()
  expect((await ask(impatient.address, '/', { headers })).status).toBe(421)
  await impatient.stop()
})

test('a knock without an assignment is turned away', async () => {
  expect(
    (await ask(gate.address, '/', { headers: { 'torpor-assignment': '', 'torpor-knock': '1' } })).status,
  ).toBe(421)
})
