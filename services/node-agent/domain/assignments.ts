import { compareAssignments } from '@torpor/contracts'
import type { Assignment, DomainReport } from '@torpor/contracts'

/** The highest assignment of one actor that this node saw, and how it ended here, if it did. */
export type KnownAssignment = {
  readonly assignment: Assignment
  /** The report that ended it: the same command again is answered with the same report. */
  readonly outcome?: DomainReport
}

/** May a command with this assignment act? `old`: never. `same`: whatever it asks for may be done already. */
export function judgeAssignment(
  known: KnownAssignment | undefined,
  given: Assignment,
): 'new' | 'same' | 'old' {
  if (known === undefined) return 'new'
  const order = compareAssignments(given, known.assignment)
  if (order === 0) return 'same'
  return order > 0 ? 'new' : 'old'
}
