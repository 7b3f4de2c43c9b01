import type { Snapshot } from '@torpor/contracts'

/** Prints the story: a heading for each step, plain lines under it, times at the end of a line. */
export type Teller = {
  step(number: number, title: string): void
  line(text: string): void
  /** One event as it arrived from the bus. */
  event(text: string): void
  table(head: readonly string[], rows: readonly (readonly string[])[]): void
}

export function createTeller(
  write: (text: string) => void,
  startedAtMs: number,
  nowMs: () => number,
): Teller {
  const seconds = () => `${((nowMs() - startedAtMs) / 1000).toFixed(1).padStart(6)} s`
  return {
    step: (number, title) => write(`\n${number}. ${title}\n`),
    line: (text) => write(`${seconds()}  ${text}\n`),
    event: (text) => write(`${seconds()}    · ${text}\n`),
    table: (head, rows) => write(`${formatTable(head, rows)}\n`),
  }
}

/** Columns padded to their widest cell, two blanks between; the first is left-aligned, the others right. */
function formatTable(head: readonly string[], rows: readonly (readonly string[])[]): string {
  const widths = head.map((cell, column) =>
    Math.max(cell.length, ...rows.map((row) => row[column]?.length ?? 0)),
  )
  const format = (row: readonly string[]) =>
    `          ${row.map((cell, column) => pad(cell, widths[column] ?? 0, column)).join('  ')}`.trimEnd()
  return [head, ...rows].map(format).join('\n')
}

const pad = (cell: string, width: number, column: number): string =>
  column === 0 ? cell.padEnd(width) : cell.padStart(width)

/** `SNAPSHOT_OWNER_TAG COMPLETED gen1`: one snapshot as people of this field write it. */
export const snapshotRow = ({ owner, storageState, generation }: Snapshot): string =>
  `${owner} ${storageState.replace('SNAPSHOT_STORAGE_STATE_', '')} gen${generation}`

export const ms = (value: number): string =>
  value < 10 ? `${value.toFixed(1)} ms` : `${Math.round(value)} ms`
