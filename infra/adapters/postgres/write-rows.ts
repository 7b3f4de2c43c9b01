import type { EntityKind, ReadModelChange } from '@torpor/contracts'
import type { Transaction } from 'kysely'
import { sql } from 'kysely'
import type { Database } from './tables.ts'
import { TABLES, projectColumns } from './tables.ts'

/** Writes the changes of one kind: one statement for what is there, one for what is gone, however many rows. */
export async function writeRows(
  transaction: Transaction<Database>,
  kind: EntityKind,
  changes: readonly ReadModelChange[],
): Promise<void> {
  const gone = changes.filter(({ state }) => state === undefined)
  if (gone.length > 0) await deleteRows(transaction, kind, gone)
  const rows = changes.flatMap(({ atespace, name, state }) =>
    state === undefined
      ? []
      : [{ atespace, name, ...projectColumns(kind, state), state: JSON.stringify(state) }],
  )
  if (rows.length > 0) await upsertRows(transaction, kind, rows)
}

type Row = ReturnType<typeof projectColumns> & {
  readonly atespace: string
  readonly name: string
  readonly state: string
}

/** Every column of a table but the state, and the type of the array that carries it. */
const COLUMN_TYPES = {
  atespace: 'text',
  name: 'text',
  uid: 'text',
  state_name: 'text',
  template: 'text',
  node: 'text',
  version: 'bigint',
  create_time_ms: 'bigint',
  update_time_ms: 'bigint',
  hidden: 'boolean',
} as const satisfies Record<Exclude<keyof Row, 'state'>, string>

const SHORT_COLUMNS = Object.keys(COLUMN_TYPES) as (keyof typeof COLUMN_TYPES)[]
const COLUMNS = [...SHORT_COLUMNS, 'state']
const COLUMN_LIST = sql.join(COLUMNS.map((column) => sql.ref(column)))
const SHORT_LIST = sql.join(SHORT_COLUMNS.map((column) => sql.ref(column)))
const NEW_VALUES = sql.join(
  COLUMNS.slice(2).map((column) => sql`${sql.ref(column)} = excluded.${sql.ref(column)}`),
)

async function upsertRows(
  transaction: Transaction<Database>,
  kind: EntityKind,
  rows: readonly Row[],
): Promise<void> {
  const arrays = SHORT_COLUMNS.map((column) => {
    const values = rows.map((row) => row[column])
    return sql`unnest(${values}::${sql.raw(COLUMN_TYPES[column])}[])`
  })
  // A line for each state (JSON has no line break inside): as elements of an array each would be escaped, character by character.
  const states = rows.map(({ state }) => state).join('\n')
  await sql`
    insert into ${sql.table(TABLES[kind])} (${COLUMN_LIST})
    select ${SHORT_LIST}, state::json
    from rows from (${sql.join(arrays)}, string_to_table(${states}, E'\\n')) as line (${COLUMN_LIST})
    on conflict (atespace, name) do update set ${NEW_VALUES}`.execute(transaction)
}

async function deleteRows(
  transaction: Transaction<Database>,
  kind: EntityKind,
  gone: readonly ReadModelChange[],
): Promise<void> {
  const atespaces = gone.map(({ atespace }) => atespace)
  const names = gone.map(({ name }) => name)
  await sql`
    delete from ${sql.table(TABLES[kind])} as entity
    using unnest(${atespaces}::text[], ${names}::text[]) as gone (atespace, name)
    where entity.atespace = gone.atespace and entity.name = gone.name`.execute(transaction)
}
