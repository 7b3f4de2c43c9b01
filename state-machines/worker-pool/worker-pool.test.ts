import * as fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { workerPoolRef, workerPoolSpecSchema } from '@torpor/contracts'
import { nodeCapacity, scene } from '../given.ts'
import { workerPoolDecider } from './decider.ts'
import { placeReplicas } from './place-replicas.ts'

const spec = (replicas: number) =>
  workerPoolSpecSchema.parse({ replicas, sandboxClasses: [{ name: 'gvisor' }] })
const none = () => scene(workerPoolDecider, workerPoolRef('small'))
const created = () => none().when('CreateWorkerPool', { spec: spec(2) })
const PLACED = { workers: [{ worker: 'small-0', node: 'n1' }] }

describe('a worker pool', () => {
  it('is created once, changed, and deleted', () => {
    expect(created().state).toMatchObject({ name: 'small', workers: [], spec: { replicas: 2 } })
    expect(created().when('CreateWorkerPool', { spec: spec(2) }).refusal?.code).toBe('ALREADY_EXISTS')
    expect(created().when('UpdateWorkerPool', { spec: spec(3) }).state).toMatchObject({
      spec: { replicas: 3 },
    })
    const deleted = created().when('DeleteWorkerPool')
    expect(deleted.state).toMatchObject({ gone: true })
    expect(deleted.when('UpdateWorkerPool', { spec: spec(3) }).refusal?.code).toBe('WORKER_POOL_UNKNOWN')
    expect(deleted.when('CreateWorkerPool', { spec: spec(1) }).names).toEqual(['WorkerPoolCreated'])
  })

  it('commits nothing when nothing changes', () => {
    expect(created().when('UpdateWorkerPool', { spec: spec(2) }).names).toEqual([])
    const placed = created().when('PlaceWorkers', PLACED)
    expect(placed.state).toMatchObject(PLACED)
    expect(placed.when('PlaceWorkers', PLACED).names).toEqual([])
  })

  it('refuses what it does not know', () => {
    expect(none().when('PlaceWorkers', PLACED).refusal?.code).toBe('WORKER_POOL_UNKNOWN')
    expect(created().when('PaintWorkers').refusal?.code).toBe('COMMAND_UNKNOWN')
  })
})

const place = (
  replicas: number,
  names: readonly string[],
  workers: readonly { worker: string; node: string }[] = [],
) =>
  placeReplicas(
    { name: 'small', spec: spec(replicas), workers },
    names.map((name) => nodeCapacity(name)),
  )

describe('placing replicas', () => {
  it('spreads them, by name among equals', () => {
    expect(place(3, ['n2', 'n1'])).toEqual([
      { worker: 'small-0', node: 'n1' },
      { worker: 'small-1', node: 'n2' },
      { worker: 'small-2', node: 'n1' },
    ])
  })

  it('leaves a worker where it is while its node stays', () => {
    const before = place(4, ['n1', 'n2'])
    const after = place(4, ['n1', 'n2', 'n3'], before)
    expect(after).toEqual(before)
    const moved = place(4, ['n1', 'n3'], before)
    expect(moved.filter(({ node }) => node === 'n1')).toEqual(before.filter(({ node }) => node === 'n1'))
    expect(moved.filter(({ node }) => node === 'n3')).toHaveLength(2)
  })

  it('takes no worker from a node that is only silent, and gives it no new one', () => {
    const workers = [{ worker: 'small-0', node: 'n1' }]
    const pool = { name: 'small', spec: spec(2), workers }
    expect(placeReplicas(pool, [], () => true)).toEqual(workers)
    expect(placeReplicas(pool, [], () => false)).toEqual([])
    const draining = [nodeCapacity('n1', { draining: true })]
    expect(placeReplicas(pool, draining, () => true)).toEqual([])
  })

  it('takes away from the end when there shall be fewer', () => {
    expect(place(1, ['n1', 'n2'], place(3, ['n1', 'n2']))).toEqual([{ worker: 'small-0', node: 'n1' }])
  })

  it('passes over nodes that drain or lack the class, and waits without any', () => {
    const microvm = [{ sandboxClass: 'microvm' as const, version: { attributes: [] } }]
    const nodes = [nodeCapacity('n1', { draining: true }), nodeCapacity('n2', { sandboxRuntimes: microvm })]
    expect(placeReplicas({ name: 'small', spec: spec(2), workers: [] }, nodes)).toEqual([])
  })

  it('never puts two more on one node than on another', () => {
    fc.assert(
      fc.property(fc.nat(40), fc.integer({ min: 1, max: 7 }), (replicas, nodes) => {
        const names = Array.from({ length: nodes }, (_, index) => `n${index}`)
        const placed = place(replicas, names)
        const counts = names.map((name) => placed.filter(({ node }) => node === name).length)
        expect(placed).toHaveLength(replicas)
        expect(Math.max(...counts) - Math.min(...counts)).toBeLessThanOrEqual(1)
      }),
    )
  })
})
