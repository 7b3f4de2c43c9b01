import { LIMITS, fault, refusalOf } from '@torpor/contracts'
import type { Clock, NodeCommandData, SnapshotStore } from '@torpor/contracts'
import { createSemaphore } from '../ordering/semaphore.ts'
import type { ActorNames } from '../domain/slot.ts'
import type { Outbox } from '../reports/outbox.ts'
import type { Digests } from './digests.ts'
import type { SealedCopy } from './node-copies.ts'
import type { Seals } from './seals.ts'
import { upload } from './upload.ts'

/** Uploads of this node: each generation once at a time, few at once, behind wakes. */
export interface Uploads {
  /** Begins unless it is under way; ends with the report Uploaded or UploadFailed. */
  begin(request: NodeCommandData<'Upload'>): void
  isUnderWay(actorUid: string, generation: number): boolean
  /** Ends an upload whose copy shall go; resolves when it has let go of the files. */
  cancel(actorUid: string, generation: number): Promise<void>
  stop(): Promise<void>
}

export function createUploads(world: {
  readonly store: SnapshotStore
  readonly seals: Seals
  readonly digests: Digests
  readonly outbox: Outbox
  readonly clock: Clock
}): Uploads {
  const permits = createSemaphore(LIMITS.uploadsAtOnceMax)
  const flights = new Map<string, { readonly abort: AbortController; readonly done: Promise<void> }>()

  const copyUp = async (request: NodeCommandData<'Upload'>, signal: AbortSignal): Promise<SealedCopy> => {
    const { actorUid, generation, manifestDigest, uri } = request
    const copy = await world.seals.sealed(actorUid, generation)
    if (copy === undefined) throw fault('SNAPSHOT_UNKNOWN', uri, { detail: 'this node has no copy of it' })
    if (manifestDigest !== undefined && copy.digest !== manifestDigest)
      throw fault('SNAPSHOT_DAMAGED', uri, { detail: `the copy here is ${copy.digest}` })
    await upload(world.store, world.digests, copy, uri, signal)
    return copy
  }
  const run = async (request: NodeCommandData<'Upload'>, signal: AbortSignal): Promise<void> => {
    const { generation, manifestDigest, uri } = request
    const giveBack = await permits.acquire()
    const beganMs = world.clock.monotonicMs()
    const actor: ActorNames = request
    try {
      signal.throwIfAborted()
      const { digest, bytes } = await copyUp(request, signal)
      const elapsedMs = world.clock.monotonicMs() - beganMs
      const data = { generation, manifestDigest: digest, uri, bytes, elapsedMs }
      world.outbox.send(actor, { type: 'Uploaded', data })
    } catch (error) {
      if (signal.aborted) return
      const { code, message } = refusalOf(error)
      world.outbox.send(actor, { type: 'UploadFailed', data: { generation, manifestDigest, code, message } })
    } finally {
      giveBack()
    }
  }
  const cancel = async (key: string): Promise<void> => {
    const flight = flights.get(key)
    flight?.abort.abort(new Error('the upload is not wanted any more'))
    await flight?.done
  }
  return {
    begin(request) {
      const key = `${request.actorUid}/${request.generation}`
      if (flights.has(key)) return
      const abort = new AbortController()
      flights.set(key, { abort, done: run(request, abort.signal).finally(() => flights.delete(key)) })
    },
    isUnderWay: (actorUid, generation) => flights.has(`${actorUid}/${generation}`),
    cancel: (actorUid, generation) => cancel(`${actorUid}/${generation}`),
    async stop() {
      await Promise.all([...flights.keys()].map(cancel))
    },
  }
}
