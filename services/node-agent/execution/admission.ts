import { refuse } from '@torpor/contracts'
import type { Refusal } from '@torpor/contracts'
import { bookingOf, classOf, differingAttribute, shortOf } from '@torpor/state-machines'
import type { Agent } from '../context.ts'
import { nameOf } from '../context.ts'
import { NOTHING_BOOKED, addBooking, capacityOf } from '../domain/booking.ts'
import type { Booked } from '../domain/booking.ts'
import type { ActorNames, Slot, StartRequest } from '../domain/slot.ts'
import { newSlot } from '../domain/slot.ts'
import { makePlace } from './place.ts'

export function bookedOf(agent: Agent, worker: string): Booked {
  let booked = NOTHING_BOOKED
  for (const slot of agent.slots.values())
    if (slot.request.worker === worker) booked = addBooking(booked, slot.booking)
  return booked
}

/** Why this node cannot take the actor; undefined when it can. */
export function admissionProblem(
  agent: Agent,
  actor: ActorNames,
  request: StartRequest,
): Refusal | undefined {
  const id = nameOf(actor)
  if (agent.fenced) return refuse('NODE_UNAVAILABLE', agent.name, 'its lease is lost')
  const wantedClass = classOf(request.spec)
  const here = agent.ports.runtime.version
  if (wantedClass !== here.sandboxClass)
    return refuse('CLASS_UNKNOWN', id, `${wantedClass}; this node runs ${here.sandboxClass}`)
  const attribute = request.snapshot && differingAttribute(request.snapshot.sandboxRuntime, here)
  if (attribute !== undefined) return refuse('RUNTIME_INCOMPATIBLE', id, attribute)
  const worker = agent.workers.find(request.worker)
  if (worker === undefined) return refuse('NO_CAPACITY', id, `no worker ${request.worker} here`)
  const short = shortOf(capacityOf(worker, bookedOf(agent, request.worker)), bookingOf(request.spec))
  return short === undefined ? undefined : refuse('NO_CAPACITY', id, `${short} of ${request.worker}`)
}

/** Books the worker and begins to make the place, behind whatever of this actor still runs. */
export function admit(agent: Agent, actor: ActorNames, request: StartRequest, prepareId: string): Slot {
  const slot = newSlot(actor, request, bookingOf(request.spec), prepareId)
  agent.slots.set(actor.actorUid, slot)
  agent.capacityChanged()
  placeAgain(agent, slot)
  return slot
}

/** Begins to make the slot's place. What becomes of it is seen by who awaits it: a Go, or nobody. */
function placeAgain(agent: Agent, slot: Slot): void {
  slot.place = agent.queues.run(slot.actor.actorUid, () => makePlace(agent, slot))
  slot.place.catch(() => undefined)
}

/** Gives an unused admission back: its booking at once, its place behind what is being made of it. */
export function giveBack(agent: Agent, slot: Slot): void {
  slot.keep?.()
  slot.cancel.abort(new Error('the admission was given back'))
  if (agent.slots.get(slot.actor.actorUid) === slot) agent.slots.delete(slot.actor.actorUid)
  agent.capacityChanged()
  void agent.queues.run(slot.actor.actorUid, () => clear(agent, slot))
}

/** Takes away what is left of the slot's sandbox. Runs in the actor's queue, so before a newer slot makes its place. */
export async function clear(agent: Agent, slot: Slot): Promise<void> {
  await agent.ports.runtime.terminate(slot.actor.actorUid)
  await leaveWorker(agent, slot.request.worker)
}

/** A surplus worker goes with its last actor. */
export async function leaveWorker(agent: Agent, worker: string): Promise<void> {
  if (bookedOf(agent, worker).actors > 0) return
  try {
    await agent.workers.emptied(worker)
  } catch (error) {
    agent.ports.log('warn', `worker ${worker} could not be removed: ${String(error)}`)
  }
}
