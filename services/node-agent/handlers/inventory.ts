import type { Inventory, NodeCommandData, Reply } from '@torpor/contracts'
import type { Agent } from '../context.ts'
import type { Slot, SlotPhase } from '../domain/slot.ts'
import { accepted } from './replies.ts'

/** What this node has, of one actor or of all: what the log is compared with. */
export function handleInventory(agent: Agent, { actorUid }: NodeCommandData<'Inventory'>): Reply<Inventory> {
  if (actorUid === undefined) agent.inventoriesAnswered += 1
  const isAsked = (uid: string): boolean => actorUid === undefined || uid === actorUid
  const slots = [...agent.slots.values()].filter((slot) => isAsked(slot.actor.actorUid))
  const copies = agent.copies.all().filter((copy) => isAsked(copy.actorUid))
  return accepted({
    node: agent.name,
    incarnation: agent.incarnation,
    sandboxes: slots.flatMap(sandboxOf),
    prepares: slots
      .filter(({ phase }) => phase === 'prepared')
      .map(({ actor, prepareId }) => ({ actorUid: actor.actorUid, prepareId })),
    snapshots: copies.map((copy) => ({
      actorUid: copy.actorUid,
      generation: copy.generation,
      ...(copy.digest === undefined ? {} : { manifestDigest: copy.digest }),
      bytes: copy.bytes,
      uploading: agent.uploads.isUnderWay(copy.actorUid, copy.generation),
    })),
  })
}

function sandboxOf(slot: Slot) {
  const { assignment } = slot
  if (assignment === undefined || !isExecution(slot.phase)) return []
  const { epoch, sequence } = assignment
  return [{ ...slot.actor, epoch, sequence, phase: slot.phase }]
}

const isExecution = (phase: SlotPhase): phase is Exclude<SlotPhase, 'prepared'> => phase !== 'prepared'
