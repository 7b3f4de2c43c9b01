/**
 * What `current` has after the end of `previous`: two looks at the end of the same growing text. Where it could be in
 * several places (equal lines), the longest match counts, and of equally long ones the first, which repeats and never hides.
 */
export function newLines(previous: readonly string[], current: readonly string[]): readonly string[] {
  const best = { matched: 0, last: -1 }
  for (let last = 0; last < current.length; last += 1) {
    const matched = matchedBackFrom(previous, current, last)
    if (matched > best.matched) Object.assign(best, { matched, last })
  }
  return current.slice(best.last + 1)
}

/** How many lines of `current` up to `last` are the end of `previous`; 0 when they part before one of the two begins. */
function matchedBackFrom(previous: readonly string[], current: readonly string[], last: number): number {
  const length = Math.min(previous.length, last + 1)
  for (let back = 0; back < length; back += 1) {
    if (previous[previous.length - 1 - back] !== current[last - back]) return 0
  }
  return length
}
