import { LIMITS, sleep } from '@torpor/contracts'
import type { Clock } from '@torpor/contracts'
import type { Log } from '../log.ts'
import { createSemaphore } from '../ordering/semaphore.ts'
import type { CheckedCopies } from './checked-copies.ts'
import type { Digests } from './digests.ts'
import type { NodeCopies, NodeCopy, SealedCopy, UnsealedCopy } from './node-copies.ts'
import { commitSeal, hashImage } from './unsealed.ts'

/**
 * Gives copies on this node their manifest, behind everything else: each once however many ask for it, few at once, by a
 * thread of low priority.
 */
export interface Seals {
  /** Seals the copy soon (after `sealDelayMs`), unless it is sealed or under way. What fails is tried again when asked for. */
  begin(copy: NodeCopy): void
  /** The copy with its manifest, without delay; undefined when there is none here. Faults SNAPSHOT_DAMAGED. */
  sealed(actorUid: string, generation: number): Promise<SealedCopy | undefined>
  /** Ends a seal whose copy shall go; resolves when nothing of it writes any more. */
  cancel(actorUid: string, generation: number): Promise<void>
  /** Seals what waits, for `sealStopMsMax`: the machine may be about to start anew, and then only sealed copies count. */
  stop(): Promise<void>
}

type World = {
  readonly copies: NodeCopies
  readonly checked: CheckedCopies
  readonly clock: Clock
  readonly log: Log
  /** Of its own: what a wake compares must not wait for what is sealed. */
  readonly digests: Digests
}

type Flight = {
  readonly abort: AbortController
  /** Ends the delay. */
  hurry(): void
  readonly result: Promise<SealedCopy>
  /** While the manifest is written. */
  committing?: Promise<unknown>
}

export function createSeals(world: World): Seals {
  const { clock, copies } = world
  const permits = createSemaphore(LIMITS.sealsAtOnceMax)
  const flights = new Map<string, Flight>()

  const sealNow = async (copy: UnsealedCopy, flight: Flight): Promise<SealedCopy> => {
    const { signal } = flight.abort
    signal.throwIfAborted()
    const manifest = await hashImage(copy.folder, copy, world, signal)
    signal.throwIfAborted()
    const committing = commitSeal(copy.folder, manifest)
    flight.committing = committing.catch(() => undefined)
    const sealed = copies.seal(copy, await committing)
    world.checked.remember(copy.folder, copy.identity)
    return sealed
  }
  const fly = (copy: UnsealedCopy, delayMs: number): Flight => {
    const key = keyOf(copy.actorUid, copy.generation)
    const abort = new AbortController()
    const due = Promise.withResolvers<void>()
    const { promise: aborted, reject } = Promise.withResolvers<never>()
    const takeBack = clock.after(delayMs, due.resolve)
    abort.signal.addEventListener('abort', () => reject(abort.signal.reason), { once: true })
    const work = due.promise.then(() => permits.run(() => sealNow(copy, flight)))
    work.catch(() => undefined)
    const result = Promise.race([work, aborted]).finally(() => {
      takeBack()
      if (flights.get(key) === flight) flights.delete(key)
    })
    result.catch((error: unknown) => {
      if (!abort.signal.aborted) world.log('warn', `${key} could not be sealed: ${String(error)}`)
    })
    const flight: Flight = { abort, hurry: due.resolve, result }
    flights.set(key, flight)
    return flight
  }
  const cancel = async (key: string): Promise<void> => {
    const flight = flights.get(key)
    flight?.abort.abort(new Error('the copy shall go'))
    flight?.hurry()
    await flight?.committing
  }
  return {
    begin(copy) {
      if (copy.digest !== undefined || flights.has(keyOf(copy.actorUid, copy.generation))) return
      fly(copy, LIMITS.sealDelayMs)
    },
    async sealed(actorUid, generation) {
      const copy = copies.find(actorUid, generation)
      if (copy === undefined || copy.digest !== undefined) return copy
      const flight = flights.get(keyOf(actorUid, generation)) ?? fly(copy, 0)
      flight.hurry()
      return flight.result
    },
    cancel: (actorUid, generation) => cancel(keyOf(actorUid, generation)),
    async stop() {
      for (const flight of flights.values()) flight.hurry()
      const all = Promise.allSettled([...flights.values()].map(({ result }) => result))
      await Promise.race([all, sleep(clock, LIMITS.sealStopMsMax)])
      await Promise.all([...flights.keys()].map(cancel))
      await world.digests.close()
    },
  }
}

const keyOf = (actorUid: string, generation: number): string => `${actorUid}/${generation}`
