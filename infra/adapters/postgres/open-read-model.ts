import type { ChainPosition, EntityKind, EntityState, ReadModel, ReadModelChange } from '@torpor/contracts'
import { CHAIN_START, LIMITS, entityKey, parseEntityKey } from '@torpor/contracts'
import type { Transaction } from 'kysely'
import { Kysely, PostgresDialect, sql } from 'kysely'
import { Pool, types } from 'pg'
import { atMost } from './at-most.ts'
import { withFaults } from './faults.ts'
import { healingPool } from './healing-pool.ts'
import { listPage } from './list-page.ts'
import { migrate } from './migrate.ts'
import type { Database } from './tables.ts'
import { TABLES } from './tables.ts'
import { writeRows } from './write-rows.ts'

export type PostgresOptions = {
  /** `postgres://user:password@host:port/database` */
  readonly url: string
  /** Connections at most, of which half are kept for lists; 2 or more. */
  readonly poolMax: number
}

export type PostgresReadModel = ReadModel & {
  /** Makes or brings up to date the tables; before anything else, and as often as one likes. */
  migrate(): Promise<void>
}

/** More rows than this in one statement gain nothing and make one value of many megabytes. */
const STATEMENT_ROWS_MAX = 2_000

/**
 * The read model in PostgreSQL 15 or newer. Connects when it is first asked; a database that goes away and comes back is
 * found again by itself. All faults are READ_MODEL_UNAVAILABLE, but for COMMAND_MALFORMED of a bad page token.
 * @example const model = openReadModel({ url: 'postgres://127.0.0.1/torpor', poolMax: 4 }); await model.migrate()
 */
export function openReadModel(options: PostgresOptions): PostgresReadModel {
  const readers = Math.max(1, Math.floor(options.poolMax / 2))
  const writers = Math.max(1, options.poolMax - readers)
  // While rows are written as fast as they can be, a list must not wait for a connection.
  const forLists = openDatabase(options.url, readers)
  const forRows = openDatabase(options.url, writers)
  const inTurn = atMost(writers)
  const write = <Result>(work: () => Promise<Result>): Promise<Result> => inTurn(() => withFaults(work))
  return {
    migrate: () => write(() => migrate(forRows)),
    apply: (shard, after, to, changes) =>
      write(() => forRows.transaction().execute((open) => applyChanges(open, shard, after, to, changes))),
    read: (kind, keys) => write(() => readStates(forRows, kind, keys)),
    clear: () => write(() => clearAll(forRows)),
    position: (shard) => withFaults(() => readPosition(forLists, shard)),
    list: (kind, request) => withFaults(() => listPage(forLists, kind, request)),
    async close() {
      await Promise.all([forLists.destroy(), forRows.destroy()])
    },
  }
}

function openDatabase(url: string, connectionsMax: number): Kysely<Database> {
  const pool = new Pool({
    connectionString: url,
    max: connectionsMax,
    application_name: 'torpor-projector',
    connectionTimeoutMillis: LIMITS.readModelConnectTimeoutMs,
    query_timeout: LIMITS.readModelQueryTimeoutMs,
    statement_timeout: LIMITS.readModelQueryTimeoutMs,
    keepAlive: true,
    // Rows and position are lost together or not at all, and the log still has what was lost: no need to wait for the disk.
    options: '-c synchronous_commit=off',
    types: { getTypeParser: parserOf },
  })
  return new Kysely<Database>({ dialect: new PostgresDialect({ pool: healingPool(pool) }) })
}

/** Sequences and versions are well below 2^53: plain numbers, not text. */
function parserOf(typeId: number, format?: 'text' | 'binary') {
  if (typeId === types.builtins.INT8 && format !== 'binary') return Number
  return types.getTypeParser(typeId, format ?? 'text')
}

async function readPosition(database: Kysely<Database>, shard: number): Promise<ChainPosition> {
  const row = await database.selectFrom('positions').selectAll().where('shard', '=', shard).executeTakeFirst()
  if (row === undefined) return CHAIN_START
  return { epoch: row.epoch, frame: row.frame, frameprev: row.frameprev, timeMs: row.time_ms }
}

async function applyChanges(
  transaction: Transaction<Database>,
  shard: number,
  after: ChainPosition,
  to: ChainPosition,
  changes: readonly ReadModelChange[],
): Promise<boolean> {
  if (!(await movePosition(transaction, shard, after, to))) return false
  for (const [kind, ofKind] of Map.groupBy(changes, (change) => change.kind)) {
    for (let start = 0; start < ofKind.length; start += STATEMENT_ROWS_MAX) {
      await writeRows(transaction, kind, ofKind.slice(start, start + STATEMENT_ROWS_MAX))
    }
  }
  return true
}

/** Compare and set: the first of several wins, the others find another position. */
async function movePosition(
  transaction: Transaction<Database>,
  shard: number,
  after: ChainPosition,
  to: ChainPosition,
): Promise<boolean> {
  const moved = { epoch: to.epoch, frame: to.frame, frameprev: to.frameprev ?? '', time_ms: to.timeMs }
  if (after.frame === 0) {
    const first = transaction.insertInto('positions').values({ shard, ...moved })
    const { numInsertedOrUpdatedRows } = await first
      .onConflict((conflict) => conflict.doNothing())
      .executeTakeFirst()
    return numInsertedOrUpdatedRows === 1n
  }
  const next = transaction.updateTable('positions').set(moved)
  const { numUpdatedRows } = await next
    .where('shard', '=', shard)
    .where('frame', '=', after.frame)
    .executeTakeFirst()
  return numUpdatedRows === 1n
}

async function readStates(
  database: Kysely<Database>,
  kind: EntityKind,
  keys: readonly string[],
): Promise<ReadonlyMap<string, EntityState>> {
  const refs = keys.map(parseEntityKey)
  const atespaces = refs.map(({ atespace }) => atespace)
  const names = refs.map(({ name }) => name)
  const { rows } = await sql<{ atespace: string; name: string; state: EntityState }>`
    select entity.atespace, entity.name, entity.state from ${sql.table(TABLES[kind])} as entity
    join unnest(${atespaces}::text[], ${names}::text[]) as wanted (atespace, name)
    on entity.atespace = wanted.atespace and entity.name = wanted.name`.execute(database)
  return new Map(rows.map(({ atespace, name, state }) => [entityKey({ kind, atespace, name }), state]))
}

async function clearAll(database: Kysely<Database>): Promise<void> {
  const tables = sql.join([...Object.values(TABLES), 'positions'].map((table) => sql.table(table)))
  await sql`truncate ${tables}`.execute(database)
}
