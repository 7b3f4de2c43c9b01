import { fault } from './errors.ts'
import type { Frame } from './frame.ts'
import { decodeFrame } from './frame.ts'
import { NO_PREVIOUS, sha256Hex } from './cloud-event.ts'

/** What a reader of a shard's log carries from frame to frame. */
export type ChainPosition = {
  /** Highest epoch so far. */
  readonly epoch: number
  /** Number of the last stored frame, void ones counted: its sequence in the log. */
  readonly frame: number
  /** SHA-256, hex, of the last stored frame; undefined where a reader begins in the middle. */
  readonly frameprev: string | undefined
  /** Time of the last frame that counts. */
  readonly timeMs: number
}

export const CHAIN_START: ChainPosition = { epoch: 0, frame: 0, frameprev: NO_PREVIOUS, timeMs: 0 }

/**
 * Takes the next stored frame. A frame is void when its epoch is lower than one before it, and every reader passes over a void
 * frame: its owner was fenced. The log itself cannot tell: of two frames that were sent in a row before a barrier and arrive
 * after it, the first is refused and thereby leaves a gap that the barrier fills, so that the second finds the sequence it
 * expects. Its owner never takes it for committed, because the frame before it was not.
 *
 * Throws `INTERNAL` when a frame that counts does not follow the one before it.
 */
export function followChain(
  position: ChainPosition,
  bytes: Uint8Array,
): { readonly frame: Frame; readonly isVoid: boolean; readonly position: ChainPosition } {
  const frame = decodeFrame(bytes)
  const { header } = frame
  const isVoid = header.epoch < position.epoch
  if (!isVoid) assertFollows(position, frame)
  const next = {
    epoch: Math.max(position.epoch, header.epoch),
    frame: position.frame + 1,
    frameprev: sha256Hex(bytes),
    timeMs: isVoid ? position.timeMs : header.timeMs,
  }
  return { frame, isVoid, position: next }
}

function assertFollows(position: ChainPosition, { header }: Frame): void {
  const id = `frame ${header.frame} of shard ${header.shard}`
  if (header.frame !== position.frame + 1) {
    throw fault('INTERNAL', id, { detail: `stands at ${position.frame + 1}` })
  }
  if (position.frameprev !== undefined && header.frameprev !== position.frameprev) {
    throw fault('INTERNAL', id, { detail: 'does not follow the frame before it: the chain is broken' })
  }
  if (header.timeMs < position.timeMs) throw fault('INTERNAL', id, { detail: 'its time goes back' })
}
