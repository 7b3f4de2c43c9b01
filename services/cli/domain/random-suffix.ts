import type { Random } from '@torpor/contracts'

/** Twelve hexadecimal digits: a name that nobody chose. */
export const randomSuffix = (random: Random): string => Buffer.from(random.bytes(6)).toString('hex')
