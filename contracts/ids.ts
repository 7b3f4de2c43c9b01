import type { Clock } from './ports/clock.ts'
import type { Random } from './ports/random.ts'

const UUID_V7 = /^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/

export const isUuidV7 = (id: string): boolean => UUID_V7.test(id)

/** A UUID version 7 (RFC 9562 §5.7): 48 bits of time, then 74 random bits. */
export function uuidV7(clock: Clock, random: Random): string {
  return formatUuidV7(clock.nowMs(), random.bytes(10))
}

/** The UUIDv7 that `timeMs` and ten bytes give: the same input gives the same id. */
export function formatUuidV7(timeMs: number, tail: Uint8Array): string {
  const time = Math.floor(timeMs).toString(16).padStart(12, '0')
  const hex = Buffer.from(tail.subarray(0, 10)).toString('hex')
  const variant = ((Number.parseInt(hex.slice(4, 5), 16) & 0x3) | 0x8).toString(16)
  return `${time.slice(0, 8)}-${time.slice(8)}-7${hex.slice(0, 3)}-${variant}${hex.slice(5, 8)}-${hex.slice(8, 20)}`
}

/** The time in an UUIDv7, in milliseconds since 1970. */
export const timeOfUuidV7 = (id: string): number => Number.parseInt(id.slice(0, 8) + id.slice(9, 13), 16)
