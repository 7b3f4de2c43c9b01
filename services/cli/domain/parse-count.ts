import { InvalidArgumentError } from 'commander'

/** Parser of an option that is a whole number in a range. */
export const parseCount =
  (min: number, max: number) =>
  (text: string): number => {
    const count = Number(text)
    if (Number.isInteger(count) && count >= min && count <= max) return count
    throw new InvalidArgumentError(`Give a whole number from ${min} to ${max}.`)
  }
