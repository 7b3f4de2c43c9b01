import { LIMITS, refusalOf } from '@torpor/contracts'
import type { Assignment } from '@torpor/contracts'
import type { Agent } from '../context.ts'
import { reportOutcome } from '../context.ts'
import { startPhases } from '../domain/phases.ts'
import type { StartMarks } from '../domain/phases.ts'
import { defaultPortOf, portsOf } from '../domain/sandbox-spec.ts'
import type { Place, Slot } from '../domain/slot.ts'
import { watchExit } from '../supervision/exit-watch.ts'
import { leaveWorker } from './admission.ts'
import { makePlace } from './place.ts'
import { probeUntilReady } from './probe.ts'

type Failure = {
  readonly code: string
  readonly message: string
  readonly ran: boolean
  readonly again: boolean
}
const EXITED_AFTER_PROBE: Failure = {
  code: 'PROCESS_EXITED',
  message: 'the process ended right after it had answered its probe',
  ran: true,
  again: false,
}
type Attempt =
  | { readonly ok: true; readonly marks: Omit<StartMarks, 'receivedMs' | 'begunMs' | 'openedMs'> }
  | { readonly ok: false; readonly failure: Failure }

/**
 * Runs a Go to its end: the report Restored with the gate open, or RestoreFailed with nothing left.
 * Invariant: `running` is on disk before the gate opens, so that no answered request is lost by a restart of the agent.
 */
export async function startActor(agent: Agent, slot: Slot, receivedMs: number): Promise<void> {
  const { clock } = agent.ports
  slot.phase = 'starting'
  agent.records.write(slot)
  const begunMs = clock.monotonicMs()
  let place = slot.place
  for (let attempts = 1; ; attempts += 1) {
    const attempt = await tryStart(agent, slot, place)
    if (slot.cancel.signal.aborted) return
    if (attempt.ok && slot.exit === undefined) {
      const marks = { ...attempt.marks, receivedMs, begunMs }
      slot.phasesMs = startPhases({ ...marks, openedMs: marks.probedMs })
      openForTraffic(agent, slot)
      slot.phasesMs = startPhases({ ...marks, openedMs: clock.monotonicMs() })
      reportRestored(agent, slot)
      return
    }
    const failure = attempt.ok ? EXITED_AFTER_PROBE : attempt.failure
    await removeRemains(agent, slot)
    if (!failure.again || attempts >= LIMITS.restoreAttemptsMax) return failStart(agent, slot, failure)
    agent.ports.log('warn', `start of ${slot.actor.name} failed, trying again: ${failure.message}`)
    place = makePlace(agent, slot)
  }
}

/** The outcome of a start that is over, again. */
export function reportRestored(agent: Agent, slot: Slot): void {
  const { epoch, sequence } = slot.assignment ?? { epoch: 0, sequence: 0 }
  agent.outbox.send(slot.actor, {
    type: 'Restored',
    data: { epoch, sequence, phasesMs: { ...slot.phasesMs } },
  })
}

/** Lets requests in: only after the record says that the sandbox runs. */
export function openForTraffic(agent: Agent, slot: Slot): void {
  slot.phase = 'running'
  agent.records.write(slot)
  openGate(agent, slot)
}

export function openGate(agent: Agent, slot: Slot): void {
  if (slot.assignment === undefined || slot.exit !== undefined) return
  const { spec } = slot.request
  agent.ports.gate.open({
    ...slot.actor,
    assignment: slot.assignment,
    ipAddress: slot.ipAddress ?? '',
    defaultPort: defaultPortOf(spec),
    ports: portsOf(spec),
  })
}

async function tryStart(agent: Agent, slot: Slot, placing: Promise<Place> | undefined): Promise<Attempt> {
  const { clock, runtime } = agent.ports
  const { actorUid } = slot.actor
  let place: Place
  try {
    place = await (placing ?? makePlace(agent, slot))
  } catch (error) {
    const { code, message } = refusalOf(error)
    return failed(code, message, { ran: false, again: code === 'INTERNAL' })
  }
  slot.ipAddress = place.ipAddress
  const placedMs = clock.monotonicMs()
  const giveBack = await agent.restores.acquire()
  const restoreFromMs = clock.monotonicMs()
  try {
    slot.cancel.signal.throwIfAborted()
    if (place.folder === undefined) await runtime.start(actorUid)
    else await runtime.restore(actorUid, place.folder)
  } catch (error) {
    const message = `${messageOf(error)}${await lastLine(agent, actorUid)}`
    return failed('RESTORE_FAILED', message, { ran: true, again: true })
  } finally {
    giveBack()
  }
  const restoreToMs = clock.monotonicMs()
  watchExit(agent, slot)
  const problem = await probe(agent, slot, place)
  if (problem !== undefined) return problem
  const { fetch, verify } = place
  const probedMs = clock.monotonicMs()
  return { ok: true, marks: { fetch, verify, placedMs, restoreFromMs, restoreToMs, probedMs } }
}

async function probe(agent: Agent, slot: Slot, place: Place): Promise<Attempt | undefined> {
  const { actorUid } = slot.actor
  const ended = new AbortController()
  const signal = AbortSignal.any([slot.cancel.signal, ended.signal])
  void slot.exited.promise.then(() => ended.abort())
  const outcome = await probeUntilReady(agent.ports.clock, place.ipAddress, slot.request.spec, signal)
  if (slot.exit !== undefined) {
    const message = `${slot.exit.message}${await lastLine(agent, actorUid)}`
    return failed('PROCESS_EXITED', message, { ran: true, again: false })
  }
  if (outcome === 'ready') return undefined
  const message = `no answer within its time${await lastLine(agent, actorUid)}`
  return failed('PROBE_FAILED', message, { ran: true, again: place.folder !== undefined })
}

async function removeRemains(agent: Agent, slot: Slot): Promise<void> {
  slot.watch?.abort()
  await agent.ports.runtime.terminate(slot.actor.actorUid)
}

async function failStart(agent: Agent, slot: Slot, { code, message, ran }: Failure): Promise<void> {
  const { actorUid } = slot.actor
  const { epoch, sequence } = slot.assignment ?? ({ epoch: 0, sequence: 0 } as Assignment)
  agent.slots.delete(actorUid)
  agent.ports.gate.remove(actorUid)
  agent.capacityChanged()
  await reportOutcome(agent, slot, { type: 'RestoreFailed', data: { epoch, sequence, code, message, ran } })
  await agent.records.remove(actorUid)
  await leaveWorker(agent, slot.request.worker)
}

const failed = (
  code: string,
  message: string,
  how: { readonly ran: boolean; readonly again: boolean },
): Attempt => ({ ok: false, failure: { code, message, ...how } })

const messageOf = (error: unknown): string => (error instanceof Error ? error.message : String(error))

/** What the process said last is often the reason. */
export async function lastLine(agent: Agent, actorUid: string): Promise<string> {
  const lines = await agent.ports.runtime.logs(actorUid, 1).catch(() => [])
  return lines[0] === undefined ? '' : `; last line: ${lines[0]}`
}
