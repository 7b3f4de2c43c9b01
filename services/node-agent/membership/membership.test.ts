import { afterEach, beforeEach, expect, test } from 'vitest'
import { z } from 'zod'
import {
  SUBJECTS,
  nodeCapacitySchema,
  nodeRef,
  nodeSpecSchema,
  renewNodeLeaseSchema,
} from '@torpor/contracts'
import type { NodeCapacity } from '@torpor/contracts'
import type { AgentWorld } from '../agent-world.ts'
import {
  NODE,
  aPool,
  anActor,
  prepareOf,
  report,
  runActor,
  startAgentWorld,
  throughGate,
  until,
} from '../agent-world.ts'
import type { GuardPort } from '../context.ts'

type Told = { granted: number[]; reconciled: number; fence: (fenced: boolean) => void }

let world: AgentWorld
let told: Told
beforeEach(async () => {
  told = { granted: [], reconciled: 0, fence: () => undefined }
  const guard: GuardPort = {
    granted: (sentAtMs) => void told.granted.push(sentAtMs),
    reconciled: () => void (told.reconciled += 1),
    onFenced: (call) => void (told.fence = call),
    close: () => undefined,
  }
  world = await startAgentWorld({ guard })
})
afterEach(() => world.close())

const sent = (subject: string): { data: unknown }[] =>
  world.bus.records
    .filter((record) => record.subject === subject)
    .map(({ data }) => JSON.parse(Buffer.from(data).toString('utf8')) as { data: unknown })

const capacities = (): NodeCapacity[] =>
  sent(SUBJECTS.capacity(NODE)).map((data) => nodeCapacitySchema.parse(data))

test('an agent joins with what the node offers, then renews its lease', async () => {
  const joins = await until('the join', () => nonEmpty(sent(SUBJECTS.rpc(nodeRef(NODE), 'JoinNode'))))
  const data = z.object({ spec: nodeSpecSchema }).parse(joins[0]?.data)
  expect(data.spec).toMatchObject({
    gateAddress: world.gate.address,
    cpuMilli: 2000,
    memoryMib: 4096,
    incarnation: world.agent.incarnation,
  })
  const renewals = await until('a renewal', () =>
    nonEmpty(sent(SUBJECTS.rpc(nodeRef(NODE), 'RenewNodeLease'))),
  )
  expect(renewNodeLeaseSchema.parse(renewals[0]?.data).incarnation).toBe(world.agent.incarnation)
  expect(told.granted.length).toBeGreaterThanOrEqual(1)
})

test('an agent that the control plane does not know joins again', async () => {
  await until('the join', () => nonEmpty(sent(SUBJECTS.rpc(nodeRef(NODE), 'JoinNode'))))
  world.forgotten = true
  await until('another join', () => sent(SUBJECTS.rpc(nodeRef(NODE), 'JoinNode')).length > 1 || undefined)
})

test('capacity is published after each change, and again and again', async () => {
  const actor = anActor()
  await world.command('Prepare', prepareOf(actor.start(1)))
  const booked = await until('the booking', () =>
    capacities().find(({ workers }) => workers[0]?.actors === 1),
  )
  expect(booked).toMatchObject({
    node: NODE,
    gateAddress: world.gate.address,
    workers: [
      {
        worker: 'pool-0',
        workerPool: 'pool',
        sandboxClass: 'gvisor',
        cpuMilli: 1000,
        memoryMib: 1024,
        bookedCpuMilli: 500,
        bookedMemoryMib: 256,
      },
    ],
  })
  const before = capacities().length
  await until('the next second', () => capacities().length > before || undefined)
})

test('a worker that is not wanted any more admits nothing, and a pool leaves others alone', async () => {
  await world.command('SetWorkers', { ...aPool(), workerPool: 'other', workers: ['other-0'] })
  await world.command('SetWorkers', { ...aPool(), workers: [] })
  expect(await world.command('Prepare', prepareOf(anActor().start(1)))).toMatchObject({ ok: false })
  const elsewhere = { ...prepareOf(anActor().start(1)), worker: 'other-0' }
  expect(await world.command('Prepare', elsewhere)).toMatchObject({ ok: true })
})

test('while the guard holds the node nothing reaches an actor and nothing is admitted', async () => {
  const actor = anActor()
  await runActor(world, actor, actor.start(1))
  told.fence(true)
  expect(await throughGate(world, actor, 1)).toMatchObject({ status: 421 })
  const other = anActor('other')
  expect(await world.command('Prepare', prepareOf(other.start(1)))).toMatchObject({
    error: { code: 'NODE_UNAVAILABLE' },
  })
  expect(await world.command('Go', other.start(1))).toMatchObject({ error: { code: 'NODE_UNAVAILABLE' } })
  told.fence(false)
  expect(await throughGate(world, actor, 1)).toMatchObject({ status: 200 })
})

test('the guard hears that the node agrees with the log once an inventory and a renewal have passed', async () => {
  await until('a grant', () => told.granted.length > 0 || undefined)
  expect(told.reconciled).toBe(0)
  await world.command('Inventory', {})
  await until('the word to the guard', () => told.reconciled > 0 || undefined)
})

test('reports wait for the bus and come in order', async () => {
  const actor = anActor()
  await runActor(world, actor, actor.start(1))
  world.bus.setDown(true)
  await world.runtime.kill(actor.actorUid, 'killed')
  await until(
    'an attempt',
    () =>
      world.bus.records.some(
        ({ subject, data }) =>
          subject.includes('.report.') && Buffer.from(data).toString('utf8').includes('"Exited"'),
      ) || undefined,
  )
  world.bus.setDown(false)
  await report(world, actor, 'Exited')
  const ids = world.reports.filter(({ type }) => type === 'Exited').map(({ id }) => id)
  expect(new Set(ids).size).toBe(1)
})

const nonEmpty = <Item>(items: readonly Item[]): readonly Item[] | undefined =>
  items.length > 0 ? items : undefined
