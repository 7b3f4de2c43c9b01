import { fault } from './errors.ts'

/** First line of a frame. */
export type FrameHeader = {
  readonly format: 'torpor.frame.v1'
  readonly shard: number
  readonly epoch: number
  /** +1 with each frame of the shard, from 1. */
  readonly frame: number
  readonly timeMs: number
  /** SHA-256, hex, of the exact bytes of the frame before this; 64 zeros for the first. */
  readonly frameprev: string
  /** All durable commands of this shard up to this sequence of the COMMANDS stream are decided. */
  readonly commandfloor: number
}

/** A frame as read: its header and the exact text of each event line. */
export type Frame = { readonly header: FrameHeader; readonly lines: readonly string[] }

/**
 * The bytes of a frame: NDJSON, a header line, then one compact CloudEvent per line, no newline at the end.
 * An event's line is built once and stands here as it is published.
 */
export const encodeFrame = (header: FrameHeader, lines: readonly string[]): Uint8Array =>
  new TextEncoder().encode([JSON.stringify(header), ...lines].join('\n'))

/** Splits a frame; readers never re-encode a line. Throws `INTERNAL` when the bytes are no frame. */
export function decodeFrame(bytes: Uint8Array): Frame {
  const [first = '', ...lines] = new TextDecoder().decode(bytes).split('\n')
  const header = parseHeader(first)
  return { header, lines }
}

function parseHeader(line: string): FrameHeader {
  try {
    const header = JSON.parse(line) as FrameHeader
    if (header.format === 'torpor.frame.v1') return header
  } catch (cause) {
    throw fault('INTERNAL', 'frame', { detail: 'its header is not JSON', cause })
  }
  throw fault('INTERNAL', 'frame', { detail: 'its header has another format' })
}
