import { LIMITS, refuse, sleep } from '@torpor/contracts'
import type { CheckpointResult, ErrorCode, NodeCommandData } from '@torpor/contracts'
import type { Agent } from '../context.ts'
import { nameOf } from '../context.ts'
import type { Slot } from '../domain/slot.ts'
import { watchExit, endServing } from '../supervision/exit-watch.ts'
import { clear } from './admission.ts'
import { emptyCheckpointFolder, forgetImage, hasBegunCheckpoint } from './checkpoint-files.ts'
import { keepCheckpoint } from './keep-checkpoint.ts'

type Request = Pick<NodeCommandData<'Checkpoint'>, 'generation' | 'drain' | 'drainMs'>

const BYTES_PER_MIB = 2 ** 20

/**
 * Runs a Checkpoint to its end: Checkpointed and nothing left, CheckpointAbandoned and the actor serves on, or Exited.
 * Invariant: the record names the generation before the runtime begins, so that a whole image is found after a restart.
 */
export async function checkpointActor(agent: Agent, slot: Slot, request: Request): Promise<void> {
  const { clock, gate } = agent.ports
  const { actorUid } = slot.actor
  const receivedMs = clock.monotonicMs()
  slot.phase = 'checkpointing'
  const drained = await Promise.race([
    gate.close(actorUid, { drain: request.drain, drainMs: request.drainMs }),
    slot.exited.promise,
    aborted(slot.cancel.signal),
  ])
  if (slot.cancel.signal.aborted) return
  if (await hasBegunCheckpoint(agent, slot))
    await Promise.race([slot.exited.promise, sleep(clock, LIMITS.checkpointSettleMs)])
  if (slot.exit !== undefined) return endServing(agent, slot, slot.exit)
  if (drained !== undefined && 'kind' in drained && drained.kind === 'refused')
    return abandon(agent, slot, request.generation, 'SUSPEND_REFUSED', `${drained.open} open`)
  const drainedMs = clock.monotonicMs()
  const neededBytes = worstCaseBytes(slot)
  const [allFreeBytes, folder] = await Promise.all([
    agent.ports.freeBytes(),
    makeReady(agent, slot, request.generation),
  ])
  const freeBytes = allFreeBytes - agent.reservedBytes
  if (freeBytes < neededBytes) {
    await forgetImage(agent, slot)
    const detail = `${mib(neededBytes)} MiB may be needed, ${mib(freeBytes)} are free`
    return abandon(agent, slot, request.generation, 'SUSPEND_NO_SPACE', detail)
  }
  agent.reservedBytes += neededBytes
  try {
    const result = await runCheckpoint(agent, slot, folder)
    const phasesMs = { drain: drainedMs - receivedMs, checkpoint: clock.monotonicMs() - drainedMs }
    await conclude(agent, slot, request.generation, result, phasesMs)
  } finally {
    agent.reservedBytes -= neededBytes
  }
}

/** A record that names the generation, and its empty folder. */
function makeReady(agent: Agent, slot: Slot, generation: number): Promise<string> {
  slot.generation = generation
  agent.records.write(slot)
  return emptyCheckpointFolder(agent, slot.actor.actorUid, generation)
}

async function runCheckpoint(agent: Agent, slot: Slot, folder: string): Promise<CheckpointResult> {
  const { actorUid } = slot.actor
  slot.watch?.abort()
  try {
    return await agent.ports.runtime.checkpoint(actorUid, folder)
  } catch (error) {
    const alive = (await agent.ports.runtime.list()).some((box) => box.sandboxId === actorUid && box.alive)
    return { kind: alive ? 'failedAlive' : 'failedDead', message: String(error) }
  }
}

async function conclude(
  agent: Agent,
  slot: Slot,
  generation: number,
  result: CheckpointResult,
  phasesMs: Readonly<Record<string, number>>,
): Promise<void> {
  if (result.kind === 'failedAlive') {
    await forgetImage(agent, slot)
    if (slot.cancel.signal.aborted) return
    watchExit(agent, slot)
    return abandon(agent, slot, generation, 'SUSPEND_FAILED', result.message)
  }
  if (result.kind === 'failedDead') {
    await forgetImage(agent, slot)
    return endServing(agent, slot, { reason: 'killed', message: result.message })
  }
  try {
    await keepCheckpoint(agent, slot, phasesMs)
  } catch (error) {
    delete slot.generation
    return endServing(agent, slot, {
      reason: 'killed',
      message: `its image could not be kept: ${String(error)}`,
    })
  }
  await agent.records.remove(slot.actor.actorUid)
  await clear(agent, slot)
}

/** The sandbox lives: it serves on, as if nothing had been asked. */
async function abandon(
  agent: Agent,
  slot: Slot,
  generation: number,
  code: ErrorCode,
  detail: string,
): Promise<void> {
  const { epoch, sequence } = slot.assignment ?? { epoch: 0, sequence: 0 }
  slot.phase = 'running'
  if (slot.exit !== undefined) return endServing(agent, slot, slot.exit)
  agent.records.write(slot)
  agent.ports.gate.reopen(slot.actor.actorUid)
  const { message } = refuse(code, nameOf(slot.actor), detail)
  agent.outbox.send(slot.actor, {
    type: 'CheckpointAbandoned',
    data: { epoch, sequence, generation, code, message },
  })
}

/** All its memory and all the disk that it may use: what the image can be at most. */
function worstCaseBytes(slot: Slot): number {
  const { memory, disk } = slot.request.spec.resources.limits
  return (memory + disk) * BYTES_PER_MIB
}

const aborted = (signal: AbortSignal): Promise<undefined> =>
  new Promise((resolve) => {
    if (signal.aborted) resolve(undefined)
    else signal.addEventListener('abort', () => resolve(undefined), { once: true })
  })

const mib = (bytes: number): number => Math.floor(bytes / BYTES_PER_MIB)
