import { describe, expect, it } from 'vitest'
import type { Inventory } from '@torpor/contracts'
import { UID, actorOf, checkpointed, resuming, running, suspending, tokenOf, uploaded } from '../given.ts'
import type { Scene } from '../given.ts'
import type { Actor } from '@torpor/contracts'
import { reconcile, unwantedSandboxes } from './reconcile.ts'

const EMPTY: Inventory = { node: 'n1', incarnation: 'i1', sandboxes: [], prepares: [], snapshots: [] }

const sandboxOf = (at: Scene<Actor>, phase: Inventory['sandboxes'][number]['phase'] = 'running') => ({
  actorUid: UID,
  atespace: 'demo',
  name: 'counter-1',
  ...tokenOf(actorOf(at)),
  phase,
})
const copyOf = (generation: number) => ({
  actorUid: UID,
  generation,
  manifestDigest: `blake3:${generation}`,
  bytes: 1,
  uploading: false,
})
const types = (at: Scene<Actor>, inventory: Partial<Inventory>) =>
  reconcile(actorOf(at), { ...EMPTY, ...inventory }).map(({ type }) => type)

describe('what an inventory proves', () => {
  it('nothing, when the node has what the log says', () => {
    expect(types(running(), { sandboxes: [sandboxOf(running())] })).toEqual([])
    expect(types(checkpointed(), { snapshots: [copyOf(2)] })).toEqual([])
  })

  it('that an actor has exited, when its node has no sandbox of its assignment', () => {
    expect(types(running(), {})).toEqual(['ReportExited'])
    const older = { ...sandboxOf(running()), sequence: 1 }
    expect(types(running(), { sandboxes: [older] })).toEqual(['ReportExited'])
    expect(types(running(), { node: 'n2' })).toEqual([])
  })

  it('that a restore is done, when its sandbox runs; one that starts proves nothing', () => {
    expect(types(resuming(), { sandboxes: [sandboxOf(resuming())] })).toEqual(['ReportRestored'])
    expect(types(resuming(), { sandboxes: [sandboxOf(resuming(), 'starting')] })).toEqual([])
    expect(types(resuming(), {})).toEqual([])
  })

  it('nothing about a checkpoint: it is asked for again, and answered', () => {
    expect(types(suspending(), {})).toEqual([])
  })

  it('that a copy is gone: dropped when COMPLETED, lost when not', () => {
    expect(types(uploaded(checkpointed(), 2), {})).toEqual(['ReportSnapshotDropped'])
    expect(types(checkpointed(), {})).toEqual(['ReportSnapshotLost'])
    expect(types(checkpointed(), { node: 'n2' })).toEqual([])
  })

  it('is decided on as a report would be', () => {
    const at = running()
    const [proof] = reconcile(actorOf(at), EMPTY)
    const decided = at.when(proof?.type ?? '', proof?.data, { node: 'n1' })
    expect(decided.names).toEqual(['ActorExited'])
  })
})

describe('a sandbox that the log does not want', () => {
  it('is one of another assignment, another node, or of an actor at rest', () => {
    const current = sandboxOf(running())
    const inventory = { ...EMPTY, sandboxes: [current, { ...current, sequence: 1 }] }
    expect(unwantedSandboxes(actorOf(running()), inventory)).toEqual([{ ...current, sequence: 1 }])
    expect(unwantedSandboxes(actorOf(running()), { ...inventory, node: 'n2' })).toHaveLength(2)
    expect(unwantedSandboxes(actorOf(checkpointed()), inventory)).toHaveLength(2)
  })
})
