import Table from 'cli-table3'

const NO_BORDERS = Object.fromEntries(
  [
    'top',
    'top-mid',
    'top-left',
    'top-right',
    'bottom',
    'bottom-mid',
    'bottom-left',
    'bottom-right',
    'left',
    'left-mid',
    'mid',
    'mid-mid',
    'right',
    'right-mid',
  ].map((part) => [part, '']),
)

/** Rows under their heads, in columns, without lines. */
export function table(heads: readonly string[], rows: readonly (readonly string[])[]): string {
  const drawn = new Table({
    head: [...heads],
    chars: { ...NO_BORDERS, middle: '  ' },
    style: { 'padding-left': 0, 'padding-right': 0, head: [], border: [] },
  })
  for (const row of rows) drawn.push([...row])
  return withoutTrailingSpace(drawn.toString())
}

const withoutTrailingSpace = (text: string): string =>
  `${text
    .split('\n')
    .map((line) => line.trimEnd())
    .join('\n')}\n`
