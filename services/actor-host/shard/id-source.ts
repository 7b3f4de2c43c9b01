import type { Clock, Random } from '@torpor/contracts'

const POOL_BYTES = 4_096
const ID_BYTES = 10
const VARIANTS = ['8', '9', 'a', 'b'] as const

/** Fresh UUIDv7s. Randomness is drawn for hundreds at a time: one id costs a fraction of a microsecond. */
export function createIdSource(clock: Clock, random: Random): () => string {
  let pool = ''
  let at = 0
  let timeMs = -1
  let time = ''
  return () => {
    if (at + ID_BYTES * 2 > pool.length) {
      pool = Buffer.from(random.bytes(POOL_BYTES)).toString('hex')
      at = 0
    }
    const nowMs = clock.nowMs()
    if (nowMs !== timeMs) {
      const hex = Math.floor(nowMs).toString(16).padStart(12, '0')
      time = `${hex.slice(0, 8)}-${hex.slice(8)}-7`
      timeMs = nowMs
    }
    const tail = pool.slice(at, at + ID_BYTES * 2)
    at += ID_BYTES * 2
    const variant = VARIANTS[Number.parseInt(tail.charAt(3), 16) & 3]
    return `${time}${tail.slice(0, 3)}-${variant}${tail.slice(4, 7)}-${tail.slice(7, 19)}`
  }
}
