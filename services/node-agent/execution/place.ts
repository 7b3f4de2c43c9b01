import { fault } from '@torpor/contracts'
import type { Agent } from '../context.ts'
import { NO_SPAN } from '../domain/phases.ts'
import type { Span } from '../domain/phases.ts'
import { sandboxSpecOf } from '../domain/sandbox-spec.ts'
import type { Place, Slot } from '../domain/slot.ts'
import type { Obtained } from '../snapshots/obtain.ts'

/** A damaged copy is replaced once by the one in the store. */
const COPIES_TRIED_MAX = 2

/**
 * Makes ready what a start needs, running nothing: brings the generation here, compares every byte of it while the runtime
 * lays out the sandbox. Faults: IMAGE_UNKNOWN, SNAPSHOT_UNKNOWN, SNAPSHOT_DAMAGED, STORE_UNAVAILABLE and the runtime's own.
 */
export function makePlace(agent: Agent, slot: Slot): Promise<Place> {
  return agent.places.run(async () => {
    slot.cancel.signal.throwIfAborted()
    if (slot.request.snapshot === undefined) return placeFromImage(agent, slot)
    for (let tried = 1; ; tried += 1) {
      const { place, damage } = await placeFromSnapshot(agent, slot)
      if (damage === undefined) return place
      await agent.ports.runtime.terminate(slot.actor.actorUid)
      tellDamage(agent, slot, damage)
      if (tried >= COPIES_TRIED_MAX)
        throw fault('SNAPSHOT_DAMAGED', slot.request.snapshot.uri, { detail: damage })
    }
  })
}

async function placeFromImage(agent: Agent, slot: Slot): Promise<Place> {
  const spec = specOf(agent, slot)
  const fetch = await spanOf(agent, () => agent.ports.runtime.pullImage(spec.image))
  const { ipAddress } = await agent.ports.runtime.prepare(spec)
  return { ipAddress, fetch: fetch.span, verify: NO_SPAN }
}

async function placeFromSnapshot(
  agent: Agent,
  slot: Slot,
): Promise<{ readonly place: Place; readonly damage: string | undefined }> {
  const { actorUid } = slot.actor
  const { snapshot } = slot.request
  if (snapshot === undefined) throw fault('INTERNAL', actorUid, { detail: 'no snapshot to restore' })
  const spec = specOf(agent, slot)
  const fetched = await spanOf(agent, async () => {
    const [obtained] = await Promise.all([
      agent.obtainer.obtain(actorUid, snapshot),
      agent.ports.runtime.pullImage(spec.image),
    ])
    return obtained
  })
  const { folder } = fetched.result
  const check = (obtained: Obtained) =>
    obtained.checked ? Promise.resolve(undefined) : agent.obtainer.verify(actorUid, snapshot, obtained)
  const [verified, prepared] = await Promise.allSettled([
    spanOf(agent, () => check(fetched.result)),
    agent.ports.runtime.prepare(spec, folder),
  ])
  if (verified.status === 'rejected') throw verified.reason
  const damage = verified.value.result
  if (prepared.status === 'rejected' && damage === undefined) throw prepared.reason
  const ipAddress = prepared.status === 'fulfilled' ? prepared.value.ipAddress : ''
  return { place: { ipAddress, folder, fetch: fetched.span, verify: verified.value.span }, damage }
}

/** The copy on this node is gone; whether another one exists is for the control plane to judge. */
function tellDamage(agent: Agent, slot: Slot, damage: string): void {
  const { snapshot } = slot.request
  if (snapshot === undefined || snapshot.owner === 'SNAPSHOT_OWNER_TAG') return
  const data = { generation: snapshot.generation, code: 'SNAPSHOT_DAMAGED', message: damage }
  agent.outbox.send(slot.actor, { type: 'SnapshotLost', data })
}

const specOf = (agent: Agent, slot: Slot) =>
  sandboxSpecOf(slot.actor.actorUid, slot.request.spec, agent.ports.cgroups.pathOf(slot.request.worker))

async function spanOf<Result>(
  agent: Agent,
  work: () => Promise<Result>,
): Promise<{ readonly result: Result; readonly span: Span }> {
  const fromMs = agent.ports.clock.monotonicMs()
  const result = await work()
  return { result, span: { fromMs, toMs: agent.ports.clock.monotonicMs() } }
}
