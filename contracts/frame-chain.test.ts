import { describe, expect, test } from 'vitest'
import { NO_PREVIOUS, sha256Hex } from './cloud-event.ts'
import type { ChainPosition } from './frame-chain.ts'
import { CHAIN_START, followChain } from './frame-chain.ts'
import type { FrameHeader } from './frame.ts'
import { encodeFrame } from './frame.ts'

const frameAfter = (position: ChainPosition, header: Partial<FrameHeader> = {}): Uint8Array =>
  encodeFrame(
    {
      format: 'torpor.frame.v1',
      shard: 0,
      epoch: Math.max(1, position.epoch),
      frame: position.frame + 1,
      timeMs: position.timeMs,
      frameprev: position.frameprev ?? NO_PREVIOUS,
      commandfloor: 0,
      ...header,
    },
    ['{"line":1}'],
  )

describe('following the chain of a shard', () => {
  test('takes frames that name the one before them', () => {
    const first = frameAfter(CHAIN_START)
    const one = followChain(CHAIN_START, first)
    expect(one).toMatchObject({
      isVoid: false,
      position: { epoch: 1, frame: 1, frameprev: sha256Hex(first) },
    })
    const two = followChain(one.position, frameAfter(one.position, { epoch: 2, timeMs: 5 }))
    expect(two.position).toMatchObject({ epoch: 2, frame: 2, timeMs: 5 })
    expect(two.frame.lines).toEqual(['{"line":1}'])
  })

  test('passes over a frame of a lower epoch, which need not follow, and goes on behind its bytes', () => {
    const { position } = followChain(CHAIN_START, frameAfter(CHAIN_START, { epoch: 3, timeMs: 9 }))
    const late = frameAfter(position, { epoch: 2, frameprev: 'f'.repeat(64), frame: 7, timeMs: 1 })
    const after = followChain(position, late)
    expect(after.isVoid).toBe(true)
    expect(after.position).toEqual({ epoch: 3, frame: 2, frameprev: sha256Hex(late), timeMs: 9 })
    expect(followChain(after.position, frameAfter(after.position)).isVoid).toBe(false)
  })

  test.for<[string, Partial<FrameHeader>, RegExp]>([
    ['another predecessor', { frameprev: 'f'.repeat(64) }, /chain is broken/],
    ['another place', { frame: 5 }, /stands at 2/],
    ['an earlier time', { timeMs: 3 }, /time goes back/],
    ['another format', { format: 'other' as FrameHeader['format'] }, /another format/],
  ])('throws at a frame with %s', ([, header, message]) => {
    const { position } = followChain(CHAIN_START, frameAfter(CHAIN_START, { timeMs: 4 }))
    expect(() => followChain(position, frameAfter(position, header))).toThrow(message)
  })

  test('takes whatever is first where it begins in the middle', () => {
    const middle = { ...CHAIN_START, frame: 41, frameprev: undefined }
    const bytes = frameAfter(middle, { epoch: 7, frameprev: 'a'.repeat(64) })
    expect(followChain(middle, bytes).position).toMatchObject({ epoch: 7, frame: 42 })
  })
})
