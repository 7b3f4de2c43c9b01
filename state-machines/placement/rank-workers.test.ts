import * as fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { RUNTIME, nodeCapacity, snapshotRow, templateSpec, workerCapacity } from '../given.ts'
import { actorsPerWorker, bookingOf, shortOf } from './booking.ts'
import { differingAttribute } from './compatibility.ts'
import type { PlacementRequest } from './rank-workers.ts'
import { rankWorkers } from './rank-workers.ts'

const SPEC = templateSpec({ resources: { limits: { cpu: '500m', memory: '256Mi' } } })
const COMPLETED = snapshotRow(2, { storageState: 'SNAPSHOT_STORAGE_STATE_COMPLETED', locality: 'n2' })
const PENDING = snapshotRow(2, { locality: 'n2' })
const OTHER_CPU = {
  sandboxClass: 'gvisor' as const,
  version: { attributes: [{ key: 'architecture', value: 'arm64' }] },
}
const NODES = [nodeCapacity('n1'), nodeCapacity('n2'), nodeCapacity('n3')]

function rank(nodes = NODES, more: Partial<PlacementRequest> = {}): readonly string[] | string {
  const plan = rankWorkers(nodes, { spec: SPEC, ...more })
  if ('ranked' in plan) return plan.ranked.map(({ worker }) => worker)
  return `${plan.refusal.code} ${plan.refusal.detail}`
}

describe('ranking workers', () => {
  it('names where to ask: node, worker, pool and gate', () => {
    expect(rankWorkers([nodeCapacity('n1')], { spec: SPEC })).toEqual({
      ranked: [{ node: 'n1', worker: 'n1-0', workerPool: 'small', gateAddress: 'n1:7000' }],
    })
  })

  it('takes the node with the newest snapshot first, then any, by name among equals', () => {
    expect(rank(NODES, { snapshot: COMPLETED })).toEqual(['n2-0', 'n1-0', 'n3-0'])
  })

  it('takes only that node while the snapshot is PENDING', () => {
    expect(rank(NODES, { snapshot: PENDING })).toEqual(['n2-0'])
  })

  it('says that the newest snapshot is on a lost node, but only when it is not stored', () => {
    const lostNodes = ['n2']
    expect(rank(NODES, { snapshot: PENDING, lostNodes })).toMatch(/^SNAPSHOT_ON_LOST_NODE .*n2/)
    expect(rank(NODES, { snapshot: COMPLETED, lostNodes })).toEqual(['n1-0', 'n3-0'])
  })

  it('spreads by the free share of the scarcer resource', () => {
    const nodes = [
      nodeCapacity('n1', { workers: [workerCapacity('n1-0', { bookedCpuMilli: 1_000 })] }),
      nodeCapacity('n2', { workers: [workerCapacity('n2-0', { bookedMemoryMib: 700 })] }),
      nodeCapacity('n3', { workers: [workerCapacity('n3-0', { bookedCpuMilli: 200 })] }),
    ]
    expect(rank(nodes)).toEqual(['n3-0', 'n1-0', 'n2-0'])
  })

  it.each([
    ['class', [nodeCapacity('n1', { workers: [workerCapacity('w', { sandboxClass: 'microvm' })] })], {}],
    ['selector', NODES, { spec: { ...SPEC, workerSelector: { matchLabels: { tier: 'gold' } } } }],
    ['draining', [nodeCapacity('n1', { draining: true })], {}],
    ['locality', [nodeCapacity('n1')], { snapshot: PENDING }],
    ['compatibility', [nodeCapacity('n1', { sandboxRuntimes: [OTHER_CPU] })], { snapshot: COMPLETED }],
    ['room', [nodeCapacity('n1', { workers: [workerCapacity('w', { actors: 10 })] })], {}],
    ['class', [], {}],
  ])('names the constraint that left no worker: %s', (constraint, nodes, more) => {
    expect(rank(nodes, more)).toMatch(new RegExp(`^NO_CAPACITY no worker left by: ${constraint}`))
  })

  it('takes a worker whose labels match', () => {
    const gold = workerCapacity('n1-1', { labels: { tier: 'gold', zone: 'a' } })
    const spec = { ...SPEC, workerSelector: { matchLabels: { tier: 'gold' } } }
    expect(rank([nodeCapacity('n1', { workers: [workerCapacity('n1-0'), gold] })], { spec })).toEqual([
      'n1-1',
    ])
  })

  it('does not depend on the order in which nodes are known', () => {
    const known = NODES.map((node, index) => ({
      ...node,
      workers: [workerCapacity(`${node.node}-0`, { bookedCpuMilli: index * 100 })],
    }))
    fc.assert(
      fc.property(fc.shuffledSubarray(known, { minLength: 3 }), (nodes) => {
        expect(rank(nodes)).toEqual(rank(known))
      }),
    )
  })
})

describe('booking', () => {
  it('is min(cpu ÷ actor cpu, (memory − 64 MiB) ÷ actor memory, maxActors)', () => {
    const booking = bookingOf(SPEC)
    expect(booking).toEqual({ cpuMilli: 500, memoryMib: 256 })
    expect(actorsPerWorker({ cpuMilli: 4_000, memoryMib: 1_088, maxActors: 10 }, booking)).toBe(4)
    expect(actorsPerWorker({ cpuMilli: 1_000, memoryMib: 1_088, maxActors: 10 }, booking)).toBe(2)
    expect(actorsPerWorker({ cpuMilli: 4_000, memoryMib: 1_088, maxActors: 1 }, booking)).toBe(1)
  })

  it('adds what a microVM takes itself', () => {
    const spec = templateSpec({ sandboxClasses: [{ name: 'microvm' }] })
    expect(bookingOf(spec).memoryMib).toBe(264)
  })

  it('has room for exactly as many as the formula says', () => {
    const sizes = fc.record({
      cpuMilli: fc.integer({ min: 1, max: 4_000 }),
      memoryMib: fc.integer({ min: 1, max: 4_000 }),
    })
    fc.assert(
      fc.property(sizes, sizes, fc.integer({ min: 1, max: 20 }), (limits, booking, maxActors) => {
        let worker = workerCapacity('w', { ...limits, maxActors })
        while (shortOf(worker, booking) === undefined) {
          worker = {
            ...worker,
            actors: worker.actors + 1,
            bookedCpuMilli: worker.bookedCpuMilli + booking.cpuMilli,
            bookedMemoryMib: worker.bookedMemoryMib + booking.memoryMib,
          }
        }
        expect(worker.actors).toBe(actorsPerWorker({ ...limits, maxActors }, booking))
      }),
    )
  })
})

describe('compatibility', () => {
  it('is equality of class and attributes, and names what differs', () => {
    const attributes = (pairs: Record<string, string>) => ({
      sandboxClass: 'gvisor' as const,
      version: { attributes: Object.entries(pairs).map(([key, value]) => ({ key, value })) },
    })
    expect(differingAttribute(RUNTIME, RUNTIME)).toBeUndefined()
    expect(differingAttribute(attributes({ a: '1', b: '2' }), attributes({ b: '2', a: '1' }))).toBeUndefined()
    expect(differingAttribute(attributes({ a: '1' }), attributes({ a: '2' }))).toBe('a')
    expect(differingAttribute(attributes({ a: '1', b: '2' }), attributes({ a: '1' }))).toBe('b')
    expect(differingAttribute(attributes({ a: '1' }), attributes({ a: '1', b: '2' }))).toBe('b')
    expect(differingAttribute(RUNTIME, { ...RUNTIME, sandboxClass: 'microvm' })).toBe('sandboxClass')
  })
})
