/** A change of one source file, applied while it is loaded. */
export type Edit = { readonly file: string; readonly find: string; readonly replace: string }

/** A mistake that an engine like this one could have, and that its laws must find. */
export type Bug = { readonly name: string; readonly about: string; readonly edits: readonly Edit[] }

const SHARD = 'services/actor-host/shard/shard.ts'
const BARRIER = 'services/actor-host/shard/barrier.ts'
const PIPELINE = 'services/actor-host/shard/append-pipeline.ts'
const KEEPER = 'services/actor-host/ownership/lease-keeper.ts'

export const BUGS: readonly Bug[] = [
  {
    name: 'no-barrier',
    about: 'after an append without its PubAck the owner reads the log and goes on, without a barrier',
    edits: [
      {
        file: BARRIER,
        find: 'if (desk.isHeld() && !desk.isGivenUp()) {',
        replace: `if (start !== undefined) return {
          epoch: tail.position.epoch,
          position: tail.position,
          durableFloor: Math.max(tail.floor, desk.durableFloor()),
          frames: tail.frames,
        }
        if (desk.isHeld() && !desk.isGivenUp()) {`,
      },
    ],
  },
  {
    name: 'refusal-from-ahead',
    about: 'a refusal leaves before the frame that it depends on is committed',
    edits: [
      {
        file: SHARD,
        find: '#answerAfter(waiting: Waiting, frame: number, draft: FrameDraft): void {',
        replace: `#answerAfter(waiting: Waiting, frame: number, draft: FrameDraft): void {
          if (waiting.kind === 'command' && waiting.outcome?.ok === false) return answer(waiting)`,
      },
    ],
  },
  {
    name: 'epoch-from-lease',
    about: 'at a take-over the epoch is the revision of the lease, and not the highest of the log plus one',
    edits: [
      {
        file: KEEPER,
        find: 'held.shard.hold(sentAtMs + limits.shardLeaseMs)',
        replace: 'held.shard.hold(sentAtMs + limits.shardLeaseMs, held.lease.revision)',
      },
      {
        file: SHARD,
        find: 'hold(untilMonotonicMs: number): void {',
        replace: 'hold(untilMonotonicMs: number, revision = 0): void { this.leaseRevision = revision',
      },
      {
        file: SHARD,
        find: 'ownBarriers: this.#ownBarriers,',
        replace: 'ownBarriers: this.#ownBarriers, leaseRevision: this.leaseRevision,',
      },
      {
        file: BARRIER,
        find: 'epoch: position.epoch + 1,',
        replace: 'epoch: desk.ownBarriers.size === 0 ? desk.leaseRevision : position.epoch + 1,',
      },
    ],
  },
  {
    name: 'resend-after-timeout',
    about: 'a frame whose answer did not come is sent again, behind whatever the log holds by then',
    edits: [
      {
        file: PIPELINE,
        find: '(result) => this.#ended(generation, sent, result),',
        replace: `async (result) => this.#ended(generation, sent, result.kind === 'ambiguous'
          ? await log.append(bytes, await log.lastSequence().catch(() => frame - 1)) : result),`,
      },
    ],
  },
  {
    name: 'ack-before-commit',
    about: 'an answer leaves when its frame is sent, and not when it is committed',
    edits: [
      {
        file: SHARD,
        find: 'this.#pipeline.send(draft, this.#floor.written())',
        replace: `{
          this.#pipeline.send(draft, this.#floor.written())
          for (const waiting of draft.waiting) answer(waiting)
        }`,
      },
    ],
  },
]
