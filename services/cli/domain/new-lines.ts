/**
 * What `current` has after the end of `previous`: two looks at the end of the same growing text. The longest end of
 * `previous` that `current` begins with, or holds, is what was seen already.
 */
export function newLines(previous: readonly string[], current: readonly string[]): readonly string[] {
  if (previous.length === 0) return current
  for (let start = current.length - 1; start >= 0; start -= 1) {
    if (endsAlike(previous, current, start)) return current.slice(start + 1)
  }
  return current
}

/** Whether the lines of `current` up to `last` are the end of `previous`, as far back as both go. */
function endsAlike(previous: readonly string[], current: readonly string[], last: number): boolean {
  for (let back = 0; back < previous.length && back <= last; back += 1) {
    if (previous[previous.length - 1 - back] !== current[last - back]) return false
  }
  return true
}
